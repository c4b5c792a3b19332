/* Convolution of many rows side by side with one real, even spectrum. */
#ifndef TP_CPU_FILTER_FILTER_KERNEL_H
#define TP_CPU_FILTER_FILTER_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"

#define FILTER_ROWS_MAX     32 /* two vectors of the widest machine */
#define FILTER_CHANNELS_MIN 16 /* the widest vector */

/* Rows of `channels` >= FILTER_CHANNELS_MIN, in transforms of n >= 2 channels - 1 points: 2^k for
 * radix 4, else radix * 2^k. */
struct row_filter {
    int64_t n, channels;
    int radix;                       /* of the outermost pass: 3, 4, 5 */
    const float *twiddle, *spectrum; /* as ramp.c fills them */
    int stream; /* writes past the caches: rows aligned to 64 bytes, channels a multiple of 16 */
};

/* Rows of a block: to[i] = spectrum (weight[i] * from[i]); NULL: no row, no weights. */
struct row_block {
    const float *from[FILTER_ROWS_MAX], *weight[FILTER_ROWS_MAX];
    float *to[FILTER_ROWS_MAX];
};

struct filter_kernels {
    int rows; /* of a block */
    /* x: scratch of n * rows floats, aligned to 64 bytes. All of `from` is read before `to` is
     * written. */
    void (*block)(const struct row_filter *f, const struct row_block *b, float *x);
};
ISA_TABLES(filter_kernels);

#endif
