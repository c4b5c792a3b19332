/* Complex Fourier transforms of one length, of LANES_COMPLEX arrays at a time: element k of all of
 * them lies together, real parts first, so that every butterfly is arithmetic of whole registers.
 * FFTW takes 4.3 to 9.3 times as long in this layout, and 1.0 to 2.0 times with one array after the
 * other, copies there and back not counted (n = 192 to 2160, one thread, AVX-512). */
#ifndef TP_CPU_FOURIER_LANES_FFT_H
#define TP_CPU_FOURIER_LANES_FFT_H

#include <stdint.h>

#include "base/err.h"
#include "host/cpu/common/isa.h"

#define LANES_COMPLEX 8  /* arrays at a time: an element is one cache line */
#define LANES         16 /* floats of an element: LANES_COMPLEX real parts, then the imaginary */

#define LANES_PASSES 40

/* Stockham's order: pass i has butterflies of radix[i]. */
struct lanes_fft {
    int64_t n;
    int passes;
    int radix[LANES_PASSES];
    float *twiddle; /* per pass over m points: (cos, sin) 2 pi j p / m, p < m / radix, 0 < j */
};

/* n = 2^a 3^b 5^c, as fft_good_size gives. ERR_MEMORY, or ERR_INTERNAL for another length. */
enum err lanes_fft_create(int64_t n, struct lanes_fft *out);
void lanes_fft_free(struct lanes_fft *f);

/* out[k] = sum_j in[j] exp(sign 2 pi i j k / n), not scaled, sign 1 or -1. The input is in `a`;
 * both arrays, [n][LANES] floats aligned to 64 bytes, are used up. Returns that with the result. */
float *lanes_fft_run(const struct lanes_fft *f, int sign, float *a, float *b);

/* Butterflies of transforms over lanes. */

struct lanes_fft_kernels {
    float *(*run)(const struct lanes_fft *f, int sign, float *a, float *b);
};
ISA_TABLES(lanes_fft_kernels);

/* An element of LANES floats as a vector: a register of AVX-512, two of AVX2, four of SSE. */
typedef float lanes __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t lanes_index __attribute__((vector_size(4 * LANES)));

/* (-1, ..., 1, ...): turned(z) * lanes_i is i z. */
#define LANES_I ((lanes){-1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1})

/* Real and imaginary parts exchanged. */
#if defined(__clang__)
#define turned(z)                                                                                  \
    __builtin_shufflevector(z, z, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#else
#define turned(z)                                                                                  \
    __builtin_shuffle(z, (lanes_index){8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7})
#endif

#endif
