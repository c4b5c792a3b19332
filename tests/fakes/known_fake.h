/* CUDA's language and names for a program in C on the emulated GPU (gpu.h). A kernel's host side
 * is made as nvcc makes it: a stub that launches, above it a function at the line of the
 * definition. */
#ifndef KNOWN_FAKE_H
#define KNOWN_FAKE_H

#include "gpu.h"

typedef void *cudaStream_t, *cudaEvent_t, *cudaGraph_t, *cudaGraphExec_t;
typedef int cudaError_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaStreamCaptureModeGlobal };

static const struct {
    unsigned x;
} threadIdx, blockIdx, blockDim;

static inline long long clock64(void)
{
    return 0;
}

#define KERNEL(name, mangled, parameters)                                                          \
    __attribute__((noinline)) static void __device_stub_##mangled(unsigned n, unsigned m, void *s) \
    {                                                                                              \
        cudaLaunchKernel(#mangled, (struct dim3){n, 1, 1}, (struct dim3){m, 1, 1}, NULL, 0, s);    \
        __asm__ volatile("");                                                                      \
    }                                                                                              \
    __attribute__((noinline)) static void name(unsigned n, unsigned m, void *s)                    \
    {                                                                                              \
        __device_stub_##mangled(n, m, s);                                                          \
        __asm__ volatile("");                                                                      \
    }                                                                                              \
    __attribute__((unused)) static void mangled parameters
#define LAUNCH(name, blocks, threads, stream, ...) name(blocks, threads, stream)
#define SETTLE()                                                                                   \
    for (int turn = 0; turn < 6000 && fake_pending(); turn++)                                      \
    usleep(10000)
#define WRONG_LINE ((int)fake_option("line", 0)) /* what it says is off by so much */

#endif
