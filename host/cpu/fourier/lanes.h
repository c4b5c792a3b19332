/* An element of LANES floats as a vector: a register of AVX-512, two of AVX2, four of SSE. */
#ifndef TP_CPU_FOURIER_LANES_H
#define TP_CPU_FOURIER_LANES_H

#include "host/cpu/fourier/lanes_fft.h"

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
