/* cuFFT as far as it is used, opened at its first use: it is large, and only the filter needs it.
 */
#ifndef TP_CUDA_FILTER_FFT_CUH
#define TP_CUDA_FILTER_FFT_CUH

#include <cufft.h>

#include "cuda/common/device.cuh"

struct fft_calls {
    cufftResult (*create)(cufftHandle *plan);
    cufftResult (*destroy)(cufftHandle plan);
    cufftResult (*no_workspace)(cufftHandle plan, int automatic);
    cufftResult (*make)(cufftHandle plan, int rank, int *n, int *in_embed, int in_stride,
                        int in_distance, int *out_embed, int out_stride, int out_distance,
                        cufftType type, int batch, size_t *workspace);
    cufftResult (*workspace)(cufftHandle plan, void *memory);
    cufftResult (*stream)(cufftHandle plan, cudaStream_t stream);
    cufftResult (*run)(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction);
};
enum err fft_load(const struct fft_calls **out);

/* The smallest 2^a 3^b 5^c 7^d >= n. */
int64_t fft_length(int64_t n);

#endif
