/* cuFFT as far as cuda/filter/fft.cuh uses it, over the project's own transforms. */
#ifndef TP_SHIM_CUFFT_H
#define TP_SHIM_CUFFT_H

#include "tests/device/shim/cuda_runtime.h"

typedef int cufftHandle;
typedef float2 cufftComplex;
enum cufftResult {
    CUFFT_SUCCESS = 0,
    CUFFT_INVALID_PLAN = 1,
    CUFFT_ALLOC_FAILED = 2,
    CUFFT_INTERNAL_ERROR = 5
};
enum cufftType { CUFFT_C2C = 0x29 };
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1

cufftResult cufftCreate(cufftHandle *plan);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int automatic);
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *in_embed, int in_stride,
                              int in_distance, int *out_embed, int out_stride, int out_distance,
                              cufftType type, int batch, size_t *workspace);
cufftResult cufftSetWorkArea(cufftHandle plan, void *memory);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction);

#endif
