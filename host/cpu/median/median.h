/* 3x3x3 median: an entry of the back end's table (host/backend/backend.h), and its parts. */
#ifndef TP_CPU_MEDIAN_MEDIAN_H
#define TP_CPU_MEDIAN_MEDIAN_H

#include <stdint.h>

#include "host/cpu/common/isa.h"
#include "host/backend/backend.h"

/* 3x3x3 median, one tile at a time. */

/* Rows and slices of a tile: a tile runs along all columns. Slices in floats, a multiple of every
 * VEC. */
#define MEDIAN_ROWS   4
#define MEDIAN_SLICES 256

struct median_volume {
    int64_t rows, cols, slices;
    const float *in;
    float *out;
    int stream; /* writes past the caches: slices is a multiple of 16 */
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

enum err cpu_median3(struct backend *be, int64_t rows, int64_t cols, int64_t slices,
                     const struct buffer *in, struct buffer *out);

/* All tiles, and which kernel the machine is best served by. */
void median_tiles(struct backend *be, median_tile *tile, const struct median_volume *v);
median_tile *median_best(void);

#endif
