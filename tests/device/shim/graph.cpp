/* Graphs: while a stream records, its work goes into a list with copies of all arguments, and is
 * done whenever the graph is launched, with the arguments of then. Device memory that an argument
 * named must still live: an address is never given out twice. */
#include <vector>

#include "tests/device/shim/cuda_runtime.h"
#include "tests/device/shim/memory.h"
#include "tests/device/shim/shim.h"

namespace
{
struct node {
    std::function<void()> work;
    std::vector<const void *> memory;
};
cudaStream_t recording;
bool valid;
shim_graph *current;
std::vector<const void *> named; /* by the arguments of the call at hand */
int64_t alive;
} // namespace

struct shim_graph {
    std::vector<node> nodes;
};
struct shim_exec {
    std::vector<node> nodes;
};

int64_t shim_graphs_alive(void)
{
    return alive;
}

int shim_recording(cudaStream_t stream)
{
    return current && stream == recording;
}

void shim_name_memory(const void *p)
{
    if (current)
        named.push_back(p);
}

int shim_record(cudaStream_t stream, std::function<void()> work)
{
    if (!shim_recording(stream))
        return 0;
    current->nodes.push_back(node{std::move(work), named});
    named.clear();
    return 1;
}

cudaError_t shim_forbid(void)
{
    if (!current)
        return cudaSuccess;
    valid = false;
    return shim_note(cudaErrorStreamCaptureUnsupported);
}

int shim_may_record(void)
{
    if (shim_faults.recorded <= 0 || --shim_faults.recorded > 0)
        return 1;
    valid = false;
    shim_note(cudaErrorInvalidConfiguration);
    return 0;
}

/* The call fails that counts down to 0. */
static cudaError_t fault(const char *call, int64_t *count, cudaError_t code)
{
    const cudaError_t early = shim_enter(call);
    if (early)
        return early;
    return *count > 0 && --*count == 0 ? shim_note(code) : cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode)
{
    const cudaError_t code =
        fault("cudaStreamBeginCapture", &shim_faults.capture, cudaErrorStreamCaptureUnsupported);
    if (code)
        return code;
    if (current || !stream)
        return shim_note(cudaErrorStreamCaptureUnsupported);
    recording = stream;
    current = new shim_graph{};
    valid = true;
    named.clear();
    alive++;
    shim_totals.recordings++;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    *out = NULL;
    if (!shim_recording(stream))
        shim_die("a recording ends that did not begin");
    shim_graph *const graph = current;
    current = NULL;
    const cudaError_t code = shim_enter("cudaStreamEndCapture");
    if (valid && !code && !shim_faults.no_graphs) {
        *out = graph;
        return cudaSuccess;
    }
    alive--;
    delete graph;
    return code ? code : shim_note(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    *out = NULL;
    const cudaError_t code =
        fault("cudaGraphInstantiate", &shim_faults.instantiate, cudaErrorMemoryAllocation);
    if (code)
        return code;
    *out = new shim_exec{graph->nodes};
    alive++;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    alive--;
    delete graph;
    return shim_enter("cudaGraphDestroy");
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    shim_drain();
    alive--;
    delete exec;
    return shim_enter("cudaGraphExecDestroy");
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    const cudaError_t code =
        fault("cudaGraphLaunch", &shim_faults.graph_launch, cudaErrorLaunchFailure);
    if (code)
        return code;
    shim_totals.graphs++;
    for (const node &n : exec->nodes) {
        for (const void *p : n.memory)
            if (!shim_is_device(p, 1))
                shim_die("a graph is launched with %p, which was freed since", p);
        shim_enqueue(stream, n.work);
    }
    return cudaSuccess;
}
