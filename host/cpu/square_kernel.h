/* Inner loops of parallel projection over squares of SIDE x SIDE pixels. By ascending position on
 * the detector, pixels with the same first column follow each other: a run. Its columns stay in
 * registers while the run's cylinders pass. These lie packed in L1 meanwhile, because their stride
 * in the volume, often a power of two, would map them to a few sets of the cache. */
#ifndef TP_CPU_SQUARE_KERNEL_H
#define TP_CPU_SQUARE_KERNEL_H

#include "host/cpu/parallel_kernel.h"

#define SIDE   8
#define SQUARE (SIDE * SIDE)

/* Pixels of a square by ascending position in one view. */
struct square_order {
    double offset[SQUARE]; /* position less that of pixel 0, in channels */
    uint8_t pixel[SQUARE];
};

struct square_at {
    const struct square_order *order;
    uint64_t present;     /* bit of each pixel that takes part; not 0 */
    double position;      /* of pixel 0 */
    double width, height; /* of every footprint in this view: channels, entry of A where it covers
                             a whole channel */
};

/* Footprints of one square in one view, in that order. */
struct square_feet {
    uint64_t runs; /* bit q: first of a run */
    int count;
    int32_t start[SQUARE + 1]; /* tile column, guards included; -1 behind the last */
    uint8_t pixel[SQUARE];
    float *weight; /* [taps, rounded up to even][SQUARE] */
};

struct square_kernels {
    void (*feet)(const struct projector *p, const struct square_at *at, int power,
                 struct square_feet *out);
    /* x: SQUARE cylinders, tile: columns, both of SLICES floats of which the first `slices` count,
     * to whole registers; one column of tile more than taps reach is touched where taps are odd. */
    void (*forward)(const struct square_feet *f, int taps, int slices, const float *x, float *tile);
    void (*back)(const struct square_feet *f, int taps, int slices, const float *tile, float *x);
};
ISA_TABLES(square_kernels);

#endif
