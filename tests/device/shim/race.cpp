/* A kernel with a race, and a graph with a stale argument, for the tests that must see them. */
#include "tests/device/shim/cuda_runtime.h"
#include "tests/device/shim/shim.h"

static __global__ void last_one_wins(int *out)
{
    *out = (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

int shim_race(unsigned seed)
{
    int *device, result;
    cudaMalloc(reinterpret_cast<void **>(&device), sizeof *device);
    shim_order(seed);
    CALL_KERNEL(last_one_wins, dim3(3), dim3(64), 0, NULL, device);
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
    CALL_KERNEL(last_one_wins, dim3(3), dim3(64), 0, stream, device);
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
