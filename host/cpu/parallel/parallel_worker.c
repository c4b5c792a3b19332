/* A batch of pixels against tiles of parallel beams: SLICES slices at a time. */
#include <string.h>

#include "host/cpu/common/arithmetic.h"
#include "host/cpu/parallel/parallel.h"

/* Block number i of the region's slices; returns 0 past the end. */
static int take_slices(struct parallel_block *b, struct tile_region at, int64_t i)
{
    b->slice = at.slice + i * SLICES;
    b->count = int_min(SLICES, at.slices - i * SLICES);
    return b->count > 0;
}

static void parallel_worker_forward(struct worker *base, struct tile_region at, int64_t view,
                                    int views, const float *x, float *tile)
{
    struct parallel_block *b = &((struct parallel_worker *)base)->block;
    (void)view;
    b->views = views;
    for (int64_t i = 0; take_slices(b, at, i); i++)
        ISA_PICK(parallel_kernels)->forward(b, x, tile + i * SLICES);
}

static void parallel_worker_back(struct worker *base, struct tile_region at, int64_t view,
                                 int views, const float *tile, int set, float *x)
{
    struct parallel_block *b = &((struct parallel_worker *)base)->block;
    (void)view;
    b->views = views;
    for (int64_t i = 0; take_slices(b, at, i); i++)
        ISA_PICK(parallel_kernels)->back(b, tile + i * SLICES, set, x);
}

static const struct beam_worker parallel = {parallel_worker_forward, parallel_worker_back};

void parallel_worker_init(struct parallel_worker *w, const struct projector *p, float *scratch,
                          int64_t ld, int64_t view_stride, int power)
{
    memset(scratch, 0, worker_floats(p) * sizeof *scratch);
    worker_init(&w->base, &parallel, p, scratch, view_stride, power);
    w->block = (struct parallel_block){.pixels = &w->base.batch,
                                       .footprints = w->base.footprints,
                                       .taps = p->taps,
                                       .ld = ld,
                                       .view_stride = view_stride};
}
