/* A worker for cone beams, and its inner loops. */
#ifndef TP_CPU_CONE_CONE_WORKER_H
#define TP_CPU_CONE_CONE_WORKER_H

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
};
ISA_TABLES(cone_reach_kernels);

/* A grid of intervals [edge + width*i, edge + width*(i+1)) laid over unit cells centred at
 * integers. */
struct cone_grid {
    double edge, width, inverse; /* inverse = 1 / width */
    double spread;               /* how far a voxel reaches beyond its interval, on either side */
};

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
    float *copy, *spare; /* scratch of a column without pads */
};

struct cone_kernels {
    void (*forward)(const struct cone_block *b, const float *x, float *tile);
    void (*back)(const struct cone_block *b, const float *tile, int set, float *x);
};
ISA_TABLES(cone_kernels);

/* out[low .. high): the sum of `in` over the rows under slices, or the slices under rows. */
void cone_back_general(const struct cone_block *b, struct cone_grid g, int64_t low, int64_t high,
                       const float *in, float *out);
void cone_forward_general(const struct cone_block *b, struct cone_grid g, int64_t low, int64_t high,
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

/* Inner loops of voxel-driven cone back projection: what a voxel's centre sees, bilinear between
 * four detector cells. For VOXEL_VIEWS views of a pixel at a time, a vector of slices finds its
 * rows in a window, blended from two columns in registers. */

#define VOXEL_VIEWS 4
#define VOXEL_PAD   64 /* zeros between the columns of a tile: a window's length */

/* Footprints of a batch of pixels on one view. */
struct voxel_footprints {
    int32_t column[BATCH];           /* of the tile, the left one of two */
    float left[BATCH], right[BATCH]; /* weights, the distance's included; 0 beside the detector */
    double row[BATCH], width[BATCH]; /* row of the middle of slice 0; rows per slice */
};

struct voxel_block {
    const struct projector *projector;
    struct pixel_batch pixels;
    struct voxel_footprints *footprints; /* [VOXEL_VIEWS], scratch */
    int64_t ld, view_stride;             /* tile: floats between columns, between views */
    float *copy;                         /* scratch of slices (rounded up to 16) */
    int32_t *fraction;                   /* scratch of VOXEL_VIEWS times `blocks` */
    int32_t *cell;
    int64_t blocks; /* slices/4 + 16 */
};

struct voxel_kernels {
    /* Adds `views` <= VOXEL_VIEWS from `view` on, the first of the tile, to the batch in x; sets it
     * first when `set`. */
    void (*back)(const struct voxel_block *b, int64_t view, int views, const float *tile, int set,
                 float *x);
};
ISA_TABLES(voxel_kernels);

#endif
