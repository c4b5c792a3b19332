/* 3x3x3 median, one tile at a time. */
#ifndef TP_CPU_MEDIAN_KERNEL_H
#define TP_CPU_MEDIAN_KERNEL_H

#include <stdint.h>

#include "host/cpu/isa.h"

/* Rows and slices of a tile: a tile runs along all columns. Slices in floats, a multiple of every
 * VEC. */
#define MEDIAN_ROWS   2
#define MEDIAN_SLICES 256

struct median_volume {
    int64_t rows, cols, slices;
    const float *in;
    float *out;
    int stream; /* writes past the caches: out is aligned to 64 bytes, slices a multiple of 16 */
};

struct median_kernels {
    /* out at rows [row, row + MEDIAN_ROWS), slices [slice, slice + MEDIAN_SLICES), cut at the
     * volume's end. */
    void (*tile)(const struct median_volume *v, int64_t row, int64_t slice);
};
ISA_TABLES(median_kernels);

#endif
