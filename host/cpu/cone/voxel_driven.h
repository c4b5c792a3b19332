/* Voxel-driven back projection of cone beams. */
#ifndef TP_CPU_CONE_VOXEL_DRIVEN_H
#define TP_CPU_CONE_VOXEL_DRIVEN_H

#include "host/cpu/common/projection.h"

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
