#include <string.h>

#include "host/cpu/common/worker.h"

/* Scratch, carved from one allocation: offsets in floats. Only cone beams use more than the
 * weights. */
struct layout {
    size_t weights, detector, cylinder, copy, fraction, cell, total;
};

static struct layout layout(const struct projector *p)
{
    struct layout s = {0};
    size_t at = (size_t)round_up(MAX_VIEWS * p->taps * BATCH, 16);
    if (p->scan.beam == BEAM_CONE) {
        const size_t rows = (size_t)round_up(p->scan.rows, 16);
        const size_t slices = (size_t)round_up(p->volume.slices, 16);
        const size_t blocks = (rows > slices ? rows : slices) / 4 + 16;
        s.detector = at, at += rows + 2 * CONE_PAD;
        s.cylinder = at, at += slices + 2 * CONE_PAD;
        s.copy = at, at += slices;
        s.fraction = at, at += blocks;
        s.cell = at, at += blocks;
    }
    s.total = (size_t)round_up((int64_t)at, 16);
    return s;
}

size_t worker_floats(const struct projector *p)
{
    return layout(p).total;
}

void worker_init(struct worker *w, const struct projector *p, float *scratch, int64_t ld,
                 int64_t view_stride, int power)
{
    const struct layout s = layout(p);
    memset(scratch, 0, s.total * sizeof *scratch);
    w->projector = p;
    w->power = power;
    w->ld = ld;
    w->view_stride = view_stride;
    for (int v = 0; v < MAX_VIEWS; v++)
        w->feet[v].weight = scratch + s.weights + (size_t)(v * p->taps * BATCH);
    w->parallel = (struct parallel_block){.pixels = &w->batch,
                                          .footprints = w->feet,
                                          .taps = p->taps,
                                          .ld = ld,
                                          .view_stride = view_stride};
    w->cone = (struct cone_block){.projector = p,
                                  .pixels = &w->batch,
                                  .footprints = w->feet,
                                  .power = power,
                                  .ld = ld,
                                  .view_stride = view_stride,
                                  .detector = scratch + s.detector,
                                  .cylinder = scratch + s.cylinder,
                                  .copy = scratch + s.copy,
                                  .fraction = scratch + s.fraction,
                                  .cell = (int32_t *)(void *)(scratch + s.cell)};
}

/* Footprints of the batch in views [view, view + views), views <= MAX_VIEWS. */
static void take_views(struct worker *w, int64_t view, int views)
{
    const struct footprint_kernels *k = ISA_PICK(footprint_kernels);
    for (int v = 0; v < views; v++)
        k->compute(w->projector, view + v, &w->batch, w->power, &w->feet[v]);
    w->parallel.views = w->cone.views = views;
    w->cone.z_squared = w->projector->z_squared + view * w->projector->z_stride;
}

/* Block number i of the region's slices; returns 0 past the end. */
static int take_slices(struct worker *w, struct region at, int64_t i)
{
    w->parallel.slice = at.slice + i * SLICES;
    w->parallel.count = least(SLICES, at.slices - i * SLICES);
    return w->parallel.count > 0;
}

void worker_forward(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                    struct region at, const float *x, float *tile)
{
    const int cone = w->projector->scan.beam == BEAM_CONE;
    for (; first < end; first += BATCH) {
        batch_fill(w->projector, set, first, end, &w->batch);
        for (int64_t v = 0; v < at.views; v += MAX_VIEWS) {
            float *views = tile + v * w->view_stride;
            take_views(w, at.view + v, (int)least(MAX_VIEWS, at.views - v));
            if (cone)
                ISA_PICK(cone_kernels)->forward(&w->cone, x, views);
            else
                for (int64_t i = 0; take_slices(w, at, i); i++)
                    ISA_PICK(parallel_kernels)->forward(&w->parallel, x, views + i * SLICES);
        }
    }
}

void worker_back(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                 struct region at, const float *tile, int overwrite, float *x)
{
    const int cone = w->projector->scan.beam == BEAM_CONE;
    for (; first < end; first += BATCH) {
        batch_fill(w->projector, set, first, end, &w->batch);
        for (int64_t v = 0; v < at.views; v += MAX_VIEWS) {
            const float *views = tile + v * w->view_stride;
            const int fresh = overwrite && v == 0;
            take_views(w, at.view + v, (int)least(MAX_VIEWS, at.views - v));
            if (cone)
                ISA_PICK(cone_kernels)->back(&w->cone, views, fresh, x);
            else
                for (int64_t i = 0; take_slices(w, at, i); i++)
                    ISA_PICK(parallel_kernels)->back(&w->parallel, views + i * SLICES, fresh, x);
        }
    }
}
