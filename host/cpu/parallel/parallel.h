/* Projection of parallel beams: y = A x and x = A' (w y), as forward and back in
 * host/backend/backend.h. */
#ifndef TP_CPU_PARALLEL_PARALLEL_H
#define TP_CPU_PARALLEL_PARALLEL_H

#include "host/cpu/common/projection.h"
#include "host/cpu/common/worker.h"

/* A worker for parallel beams, and its inner loops. */

/* Inner loops of parallel projection: detector row = slice, so a footprint's weights serve all
 * slices. */

#define SLICES 64 /* slices of a block: 4 AVX-512 or 8 AVX2 registers per pixel */

struct parallel_block {
    const struct pixel_batch *pixels;
    const struct footprints *footprints; /* [views] */
    int views, taps;
    int64_t slice, count;    /* slices [slice, slice + count), count <= SLICES */
    int64_t ld, view_stride; /* tile: floats between columns, between views */
};

struct parallel_kernels {
    void (*forward)(const struct parallel_block *b, const float *x, float *tile);
    /* adds to x, or sets it when `set` */
    void (*back)(const struct parallel_block *b, const float *tile, int set, float *x);
};
ISA_TABLES(parallel_kernels);

/* A worker for parallel beams. */

struct parallel_worker {
    struct worker base; /* first: a struct worker * is one of these */
    struct parallel_block block;
};

/* scratch: worker_floats() floats; ld: floats between columns of a tile. */
void parallel_worker_init(struct parallel_worker *w, const struct projector *p, float *scratch,
                          int64_t ld, int64_t view_stride, int power);

enum err parallel_forward(struct backend *be, const struct projector *p,
                          const struct pixel_set *pixels, const float *x, struct sinogram y);
enum err parallel_back(struct backend *be, const struct projector *p,
                       const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                       int power, float *x);

#endif
