/* A worker for cone beams, and its inner loops. */
#ifndef TP_CPU_CONE_CONE_WORKER_H
#define TP_CPU_CONE_CONE_WORKER_H

#include "host/cpu/common/cell_grid.h"
#include "host/cpu/common/projection.h"
#include "host/cpu/common/worker.h"

/* Inner loops of cone projection. Horizontal fan: a few channel weights per pixel and view.
 * Vertical fan: the rows seen by slice k are [edge + width*k, edge + width*(k+1)], so that
 * resampling a column between rows and slices is the overlap of two uniform grids; each voxel also
 * carries 1/cos(psi) = sqrt(1 + (slope z)^2). */

/* Floats of zeros on either side of a column: an aligned block of 16 intervals of at most 3.75
 * cells starts up to 65 below the first cell, and its second half reads up to 68 beyond the last.
 */
#define CONE_PAD 96

/* As NARROW, with a window for each group of lanes. */
#define WIDEST 3.75

/* Slices of a batch of pixels that can touch the detector in a view, one spare on each side, whose
 * weights come out as 0, and the detector rows that they touch: high is -1 where there are none.
 * Taps of a footprint that are 0 are left out: half of all footprints of three taps have but two. */
struct cone_reach {
    int32_t low[BATCH], high[BATCH], row_low[BATCH], row_high[BATCH];
    int32_t skip[BATCH], taps[BATCH];
};

struct cone_reach_kernels {
    void (*find)(const struct projector *p, const struct footprints *f, int pixels,
                 struct cone_reach *out);
    /* Adds the taps of other footprints of the same pixels. */
    void (*widen)(const struct projector *p, const struct footprints *f, int pixels,
                  struct cone_reach *out);
};
ISA_TABLES(cone_reach_kernels);

#define MOST_COPIES 4

struct cone_block {
    const struct projector *projector;
    const struct pixel_batch *pixels;
    const struct footprints *footprints; /* [views] */
    const struct cone_reach *reach;      /* [views] */
    const float *z_squared;              /* of the first view */
    int views, power;
    int64_t ld, view_stride; /* tile: floats between columns, between views */
    /* Scratch: a column of rows (back) and one of slices (forward) for each of MAX_VIEWS views, with
     * CONE_PAD zeros at both ends; zeros lie behind a column's end as well. */
    float *detector, *cylinder;
    int64_t column_stride;
    float *fraction; /* where blocks of intervals start in it, `blocks` for each view */
    int32_t *cell;
    int64_t blocks;
    float *copy, *spare; /* scratch: MOST_COPIES cylinders, column_stride apart; a column */
};

struct cone_kernels {
    void (*forward)(const struct cone_block *b, const float *x, float *tile);
    void (*back)(const struct cone_block *b, const float *tile, int set, float *x);
};
ISA_TABLES(cone_kernels);

/* out[low .. high): the sum of `in` over the rows under slices, or the slices under rows. */
void cone_back_general(const struct cone_block *b, struct cell_grid g, int64_t low, int64_t high,
                       const float *in, float *out);
void cone_forward_general(const struct cone_block *b, struct cell_grid g, int64_t low, int64_t high,
                          const float *in, float *out);

/* A worker for cone beams. */

struct cone_worker {
    struct worker base; /* first: a struct worker * is one of these */
    struct cone_block block;
    struct cone_reach reach[MAX_VIEWS];
};

/* Returns the floats of scratch per worker. */
size_t cone_worker_floats(const struct projector *p);
/* ld: floats between columns of a tile. */
void cone_worker_init(struct cone_worker *w, const struct projector *p, float *scratch, int64_t ld,
                      int64_t view_stride, int power);

#endif
