/* Parallel projection of dense pixel sets, such as a whole volume or its region of reconstruction.
 */
#ifndef TP_CPU_PARALLEL_PIXEL_BLOCKS_H
#define TP_CPU_PARALLEL_PIXEL_BLOCKS_H

#include "host/cpu/parallel/block_kernel.h"

struct square {
    int64_t row, col; /* of pixel 0 */
    uint64_t present;
};

struct squares {
    int64_t count;
    struct square *at;           /* bricks of BRICK x BRICK squares one after the other */
    struct square_view *views;   /* [views] */
    int joint;                   /* views of an order: 1 or 2 */
    struct square_order *orders; /* [views / joint] */
};

/* count 0 where lists of pixels do better: packed arrays, sparse sets, pixels listed
 * twice. */
enum err squares_create(const struct projector *p, const struct pixel_set *pixels, int joint,
                        struct squares *out);
void squares_free(struct squares *s);

/* y = A x, and x = A' (w y), as in backend.h. */
enum err squares_forward(struct backend *be, const struct projector *p, const struct squares *s,
                         const struct pixel_set *pixels, const float *x, struct sinogram y);
enum err squares_back(struct backend *be, const struct projector *p, const struct squares *s,
                      const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                      int power, float *x);

#endif
