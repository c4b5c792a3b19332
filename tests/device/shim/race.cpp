/* A kernel with a race, a graph with a stale argument, and other misuse, for the tests that must
 * see them. */
#include "tests/device/shim/cuda_runtime.h"
#include "tests/device/shim/shim.h"

static __global__ void shim_last_one_wins(int *out)
{
    *out = (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

int shim_race(unsigned seed)
{
    int *device, result;
    cudaMalloc(reinterpret_cast<void **>(&device), sizeof *device);
    shim_order(seed);
    CALL_KERNEL(shim_last_one_wins, dim3(3), dim3(64), 0, NULL, device);
    cudaStreamSynchronize(NULL);
    shim_order(0);
    cudaMemcpyAsync(&result, device, sizeof result, cudaMemcpyDeviceToHost, NULL);
    cudaStreamSynchronize(NULL);
    cudaFree(device);
    return result;
}

int shim_graph_of(int living)
{
    int *device, result;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMalloc(reinterpret_cast<void **>(&device), sizeof *device);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    CALL_KERNEL(shim_last_one_wins, dim3(3), dim3(64), 0, stream, device);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    if (!living)
        cudaFree(device);
    cudaGraphLaunch(exec, stream);
    cudaMemcpyAsync(&result, device, sizeof result, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(device);
    return result;
}

static __global__ void shim_does_nothing(int *)
{
}

static __global__ void shim_parts_with(int lanes_apart)
{
    if (threadIdx.x % 2 && lanes_apart)
        __shfl_sync(0xffffffffu, 1, 0);
    else if (threadIdx.x != 5)
        __syncwarp();
}

/* An address whose lower half is no small number: shim_is_mapped_host takes it for no two ints. */
static int *on_the_host(void)
{
    static int here[1 << 20];
    const uint32_t low = (uint32_t)(uintptr_t)here;
    return here + (low < 1u << 20 ? 1 << 19 : 0);
}

static __global__ void shim_writes_to_shared(int n, int *)
{
    SHARED_ARRAY(int, shared);
    for (int i = (int)threadIdx.x; i < n; i += 32)
        shared[i] = i;
}

/* A call to a stream or an event after its end. */
static void outlive(int stream_too)
{
    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    if (stream_too)
        cudaStreamDestroy(stream);
    else
        cudaEventDestroy(event);
    cudaEventRecord(event, stream);
}

/* Events that no work of the stream has reached, or that cross a recording's bounds. */
static void misuse_event(enum shim_misuse what)
{
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float ms;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin, stream);
    cudaEventRecord(end, stream);
    if (what != SHIM_UNFINISHED_EVENT)
        cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    if (what == SHIM_EVENT_IN_GRAPH || what == SHIM_WAIT_IN_GRAPH)
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (what == SHIM_WAIT_IN_GRAPH)
        cudaStreamWaitEvent(stream, end, 0);
    cudaEventRecord(begin, stream);
    cudaStreamSynchronize(stream);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaStreamDestroy(stream);
}

void shim_misuse(enum shim_misuse what)
{
    int *device, host[4] = {};
    shim_new_process();
    cudaMalloc(reinterpret_cast<void **>(&device), sizeof host);
    cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, NULL);
    if (what == SHIM_NO_BLOCKS)
        CALL_KERNEL(shim_does_nothing, dim3(0), dim3(32), 0, NULL, device);
    if (what == SHIM_TALL_GRID)
        CALL_KERNEL(shim_does_nothing, dim3(1, 65536), dim3(32), 0, NULL, device);
    if (what == SHIM_SHARED_NOT_ASKED_FOR)
        CALL_KERNEL(shim_does_nothing, dim3(1), dim3(32), 48 * 1024 + 4, NULL, device);
    if (what == SHIM_LANES_APART || what == SHIM_LANES_MISSING)
        CALL_KERNEL(shim_parts_with, dim3(1), dim3(32), 0, NULL, what == SHIM_LANES_APART);
    if (what == SHIM_HOST_POINTER)
        CALL_KERNEL(shim_does_nothing, dim3(1), dim3(32), 0, NULL, on_the_host());
    if (what == SHIM_DESTROYED_STREAM || what == SHIM_DESTROYED_EVENT)
        outlive(what == SHIM_DESTROYED_STREAM);
    misuse_event(what);
    CALL_KERNEL(shim_writes_to_shared, dim3(1), dim3(32), 64 * sizeof(int), NULL,
                what == SHIM_BEYOND_SHARED ? 65 : 64, device);
    host[0] = what == SHIM_HOST_MEMORY_CHANGED;
    cudaStreamSynchronize(NULL);
    cudaFree(device);
}
