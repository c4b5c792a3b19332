/* A kernel with a race, for the test that must see it. */
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
