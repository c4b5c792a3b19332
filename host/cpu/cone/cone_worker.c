/* A worker for cone beams: a batch of pixels against tiles, whole cylinders. */
#include <string.h>

#include "host/cpu/common/arithmetic.h"
#include "host/cpu/cone/cone_worker.h"

/* Scratch, carved from one allocation: offsets in floats. */
struct cone_layout {
    size_t detector, cylinder, fraction, cell, copy, spare, total;
    int64_t column_stride, blocks;
};

static struct cone_layout cone_layout_of(const struct projector *p)
{
    const int64_t longest = round_up(int_max(p->scan.rows, p->volume.slices), 16);
    struct cone_layout s = {.column_stride = longest + 2 * CONE_PAD, .blocks = longest / 4 + 16};
    size_t at = worker_floats(p);
    s.detector = at, at += (size_t)(MAX_VIEWS * s.column_stride);
    s.cylinder = at, at += (size_t)(MAX_VIEWS * s.column_stride);
    s.fraction = at, at += (size_t)(MAX_VIEWS * s.blocks);
    s.cell = at, at += (size_t)(MAX_VIEWS * s.blocks);
    s.copy = at, at += (size_t)(MOST_COPIES * s.column_stride);
    s.spare = at, at += (size_t)longest;
    s.total = (size_t)round_up((int64_t)at, 16);
    return s;
}

size_t cone_worker_floats(const struct projector *p)
{
    return cone_layout_of(p).total;
}

static struct cone_block *cone_block_at(struct worker *base, int64_t view, int views)
{
    struct cone_worker *w = (struct cone_worker *)base;
    struct cone_block *b = &w->block;
    b->views = views;
    for (int v = 0; v < views; v++)
        ISA_PICK(cone_reach_kernels)
            ->find(base->projector, &base->footprints[v], base->batch.n, &w->reach[v]);
    b->z_squared = base->projector->z_squared + view * base->projector->z_stride;
    return b;
}

static void cone_worker_forward(struct worker *base, struct tile_region at, int64_t view, int views,
                                const float *x, float *tile)
{
    (void)at;
    ISA_PICK(cone_kernels)->forward(cone_block_at(base, view, views), x, tile);
}

static void cone_worker_back(struct worker *base, struct tile_region at, int64_t view, int views,
                             const float *tile, int set, float *x)
{
    (void)at;
    ISA_PICK(cone_kernels)->back(cone_block_at(base, view, views), tile, set, x);
}

static const struct beam_worker cone = {cone_worker_forward, cone_worker_back};

void cone_worker_init(struct cone_worker *w, const struct projector *p, float *scratch, int64_t ld,
                      int64_t view_stride, int power)
{
    const struct cone_layout s = cone_layout_of(p);
    memset(scratch, 0, s.total * sizeof *scratch);
    worker_init(&w->base, &cone, p, scratch, view_stride, power);
    w->block = (struct cone_block){.projector = p,
                                   .pixels = &w->base.batch,
                                   .footprints = w->base.footprints,
                                   .reach = w->reach,
                                   .power = power,
                                   .ld = ld,
                                   .view_stride = view_stride,
                                   .detector = scratch + s.detector,
                                   .cylinder = scratch + s.cylinder,
                                   .column_stride = s.column_stride,
                                   .fraction = scratch + s.fraction,
                                   .cell = (int32_t *)(void *)(scratch + s.cell),
                                   .blocks = s.blocks,
                                   .copy = scratch + s.copy,
                                   .spare = scratch + s.spare};
}
