/* Parallel projection of dense pixel sets, such as a whole volume or its region of reconstruction.
 */
#ifndef TP_CPU_PARALLEL_PIXEL_BLOCKS_H
#define TP_CPU_PARALLEL_PIXEL_BLOCKS_H

#include "host/cpu/parallel/parallel.h"

/* Inner loops of parallel projection over blocks of BLOCK_SIDE x BLOCK_SIDE pixels. By ascending
 * position on the detector, pixels with the same first column follow each other: a run. Its columns
 * stay in registers while the run's cylinders pass. These lie packed in L1 meanwhile, because their
 * stride in the volume, often a power of two, would map them to a few sets of the cache. */

#define BLOCK_SIDE   8
#define BLOCK_PIXELS (BLOCK_SIDE * BLOCK_SIDE)

/* Pixels of a block by ascending position in one view, or by the mean of the positions in two;
 * offset: in each of the views, position less the centre's, in channels. */
struct block_order {
    uint8_t pixel[BLOCK_PIXELS];
    float offset[2][BLOCK_PIXELS];
};

/* Every footprint of a view. */
struct block_view {
    double col, row;      /* channels from one pixel to the next: along a row, down a column */
    double width, height; /* in channels; entry of A where it covers a whole channel */
};

struct block_place {
    const struct block_order *order;
    uint64_t present; /* bit of each pixel that takes part; not 0 */
    int views;        /* 1 or 2 */
    const struct block_view *view;
    double position[2]; /* of the centre, in each view */
};

/* Footprints of one block in one view or two, in that order. A run has the same first columns. */
struct block_footprints {
    uint64_t runs; /* bit q: first of a run */
    int count;
    uint8_t pixel[BLOCK_PIXELS];
    struct {
        int32_t start[BLOCK_PIXELS + 1]; /* tile column, guards included; -1 behind the last */
        float *weight;                   /* [taps, rounded up to even][BLOCK_PIXELS] */
    } view[2];
};

/* Returns 1 where two neighbouring columns hold every footprint whole, and weights are its
 * shares. */
static inline int block_two_taps(const struct projector *p, int power)
{
    return p->taps == 2 && power == 1;
}

/* x: BLOCK_PIXELS cylinders, tile: columns of one view, both of SLICES floats of which the first
 * `slices` count, to whole registers; one column of tile more than taps reach is touched where taps
 * are odd. Where a pixel's whole footprint lies in two columns, in sum `whole`, the first weight
 * says both: an addition and a multiply-add in place of two of these. */
struct block_kernels {
    void (*footprints)(const struct projector *p, const struct block_place *at, int power,
                       struct block_footprints *out);
    void (*forward)(const struct block_footprints *f, int taps, int slices, const float *x,
                    float *tile);
    void (*back)(const struct block_footprints *f, int taps, int slices, const float *tile,
                 float *x);
    void (*forward_two_taps)(const struct block_footprints *f, float whole, int slices,
                             const float *x, float *tile);
    /* Two views, the second's tile `next` floats behind the first's. */
    void (*back_two_taps)(const struct block_footprints *f, float whole, int slices,
                          const float *tile, int64_t next, float *x);
};
ISA_TABLES(block_kernels);

struct pixel_block {
    int64_t row, col; /* of pixel 0 */
    uint64_t present;
};

struct pixel_blocks {
    int64_t count;
    struct pixel_block *at;     /* bricks of BRICK x BRICK blocks one after the other */
    struct block_view *views;   /* [views] */
    int joint;                  /* views of an order: 1 or 2 */
    struct block_order *orders; /* [views / joint] */
};

/* count 0 where lists of pixels do better: packed arrays, sparse sets, pixels listed
 * twice. */
enum err pixel_blocks_create(const struct projector *p, const struct pixel_set *pixels, int joint,
                             struct pixel_blocks *out);
void pixel_blocks_free(struct pixel_blocks *b);

/* y = A x, and x = A' (w y), as in backend.h. */
enum err pixel_blocks_forward(struct backend *be, const struct projector *p,
                              const struct pixel_blocks *s, const struct pixel_set *pixels,
                              const float *x, struct sinogram y);
enum err pixel_blocks_back(struct backend *be, const struct projector *p,
                           const struct pixel_blocks *s, const struct pixel_set *pixels,
                           struct sinogram y, struct sinogram w, int power, float *x);

#endif
