/* A batch of pixels against tiles of cone beams: whole cylinders. */
#include <string.h>

#include "host/cpu/common/arithmetic.h"
#include "host/cpu/cone/cone_worker.h"

/* Scratch, carved from one allocation: offsets in floats. */
struct cone_layout {
    size_t detector, cylinder, copy, fraction, cell, total;
};

static struct cone_layout cone_layout_of(const struct projector *p)
{
    const size_t rows = (size_t)round_up(p->scan.rows, 16);
    const size_t slices = (size_t)round_up(p->volume.slices, 16);
    const size_t blocks = (rows > slices ? rows : slices) / 4 + 16;
    struct cone_layout s = {0};
    size_t at = worker_floats(p);
    s.detector = at, at += rows + 2 * CONE_PAD;
    s.cylinder = at, at += slices + 2 * CONE_PAD;
    s.copy = at, at += slices;
    s.fraction = at, at += blocks;
    s.cell = at, at += blocks;
    s.total = (size_t)round_up((int64_t)at, 16);
    return s;
}

size_t cone_worker_floats(const struct projector *p)
{
    return cone_layout_of(p).total;
}

static struct cone_block *cone_block_at(struct worker *base, int64_t view, int views)
{
    struct cone_block *b = &((struct cone_worker *)base)->block;
    b->views = views;
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
                                   .power = power,
                                   .ld = ld,
                                   .view_stride = view_stride,
                                   .detector = scratch + s.detector,
                                   .cylinder = scratch + s.cylinder,
                                   .copy = scratch + s.copy,
                                   .fraction = scratch + s.fraction,
                                   .cell = (int32_t *)(void *)(scratch + s.cell)};
}
