/* 3x3x3 median, one tile at a time. */
#ifndef TP_CPU_MEDIAN_MEDIAN_KERNEL_H
#define TP_CPU_MEDIAN_MEDIAN_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"

/* Rows and slices of a tile: a tile runs along all columns. Slices in floats, a multiple of every
 * VEC. */
#define MEDIAN_ROWS   4
#define MEDIAN_SLICES 256

struct median_volume {
    int64_t rows, cols, slices;
    const float *in;
    float *out;
    int stream; /* writes past the caches: out is aligned to 64 bytes, slices a multiple of 16 */
};

/* out at rows [row, row + MEDIAN_ROWS), slices [slice, slice + MEDIAN_SLICES), cut at the volume's
 * end. */
typedef void median_tile(const struct median_volume *v, int64_t row, int64_t slice);

struct median_kernels {
    median_tile *tile;
};
struct median_key_kernels { /* the same, floats compared as integers */
    median_tile *tile;
};
ISA_TABLES(median_kernels);
ISA_TABLES(median_key_kernels);

#endif
