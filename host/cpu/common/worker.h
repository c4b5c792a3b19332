/* What one thread needs to project lists of pixels against tiles, for either beam. */
#ifndef TP_CPU_COMMON_WORKER_H
#define TP_CPU_COMMON_WORKER_H

#include "host/cpu/cone/cone_kernel.h"
#include "host/cpu/parallel/parallel_kernel.h"

struct worker {
    const struct projector *projector;
    int power;
    int64_t ld, view_stride; /* tile: floats between columns, between views */
    struct footprints feet[MAX_VIEWS];
    struct pixel_batch batch;
    struct cone_block cone;
    struct parallel_block parallel;
};

/* Floats of scratch per worker. */
size_t worker_floats(const struct projector *p);
void worker_init(struct worker *w, const struct projector *p, float *scratch, int64_t ld,
                 int64_t view_stride, int power);

/* Where a tile lies: views [view, view + views); for parallel beams also slices [slice, slice +
 * slices), whose first is row 0 of the tile. Cone tiles hold all rows. */
struct region {
    int64_t view, views, slice, slices;
};

/* Entries [first, end) of a pixel set: adds their projection to the tile, */
void worker_forward(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                    struct region at, const float *x, float *tile);
/* or adds the back projection of the tile to them (sets them first when `overwrite`). */
void worker_back(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                 struct region at, const float *tile, int overwrite, float *x);

static inline int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
