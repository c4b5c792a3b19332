/* Parallel projection of dense pixel sets, such as a whole volume or its region of reconstruction.
 */
#ifndef TP_CPU_PARALLEL_PIXEL_BLOCKS_H
#define TP_CPU_PARALLEL_PIXEL_BLOCKS_H

#include "host/cpu/parallel/block_kernel.h"

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
