/* cuFFT as far as it is used, opened at its first use: it is large, and only filters and Fourier
 * reconstruction need it.
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

static inline enum err fft_failed(cufftResult code, const char *doing)
{
    return FAIL(code == CUFFT_ALLOC_FAILED ? ERR_MEMORY : ERR_FAILED,
                "cuFFT failed while %s (code %d)", doing, (int)code);
}
#define TRY_FFT(call, doing)                                                                       \
    do {                                                                                           \
        const cufftResult code_ = (call);                                                          \
        if (code_ != CUFFT_SUCCESS)                                                                \
            return fft_failed(code_, doing);                                                       \
    } while (0)

/* The smallest 2^a 3^b 5^c 7^d >= n. */
int64_t fft_length(int64_t n);

#endif
