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

struct cone_block {
    const struct projector *projector;
    const struct pixel_batch *pixels;
    const struct footprints *footprints; /* [views] */
    const float *z_squared;              /* of the first view */
    int views, power;
    int64_t ld, view_stride; /* tile: floats between columns, between views */
    float *detector,
        *cylinder;   /* scratch of CONE_PAD + rows|slices (rounded up to 16) + CONE_PAD */
    float *copy;     /* scratch of slices (rounded up to 16) */
    float *fraction; /* scratch of (larger of both)/4 */
    int32_t *cell;
};

struct cone_kernels {
    void (*forward)(const struct cone_block *b, const float *x, float *tile);
    void (*back)(const struct cone_block *b, const float *tile, int set, float *x);
};
ISA_TABLES(cone_kernels);

/* A worker for cone beams. */

struct cone_worker {
    struct worker base; /* first: a struct worker * is one of these */
    struct cone_block block;
};

/* Returns the floats of scratch per worker. */
size_t cone_worker_floats(const struct projector *p);
/* ld: floats between columns of a tile. */
void cone_worker_init(struct cone_worker *w, const struct projector *p, float *scratch, int64_t ld,
                      int64_t view_stride, int power);

#endif
