/* The loops of a projection over the pixels of a list and the views of a tile. */
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/worker.h"

size_t worker_floats(const struct projector *p)
{
    return (size_t)round_up(MAX_VIEWS * p->taps * BATCH, 16);
}

void worker_init(struct worker *w, const struct beam_worker *beam, const struct projector *p,
                 float *scratch, int64_t view_stride, int power)
{
    w->beam = beam;
    w->projector = p;
    w->power = power;
    w->view_stride = view_stride;
    for (int v = 0; v < MAX_VIEWS; v++)
        w->footprints[v].weight = scratch + (size_t)(v * p->taps * BATCH);
}

/* Footprints of the batch in views [view, view + views), views <= MAX_VIEWS. */
static void worker_footprints(struct worker *w, int64_t view, int views)
{
    const struct footprint_kernels *k = ISA_PICK(footprint_kernels);
    for (int v = 0; v < views; v++)
        k->compute(w->projector, view + v, &w->batch, w->power, &w->footprints[v]);
}

void worker_forward(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                    struct tile_region at, const float *x, float *tile)
{
    for (; first < end; first += BATCH) {
        batch_fill(w->projector, set, first, end, &w->batch);
        for (int64_t v = 0; v < at.views; v += MAX_VIEWS) {
            const int views = (int)int_min(MAX_VIEWS, at.views - v);
            worker_footprints(w, at.view + v, views);
            w->beam->forward(w, at, at.view + v, views, x, tile + v * w->view_stride);
        }
    }
}

void worker_back(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                 struct tile_region at, const float *tile, int overwrite, float *x)
{
    for (; first < end; first += BATCH) {
        batch_fill(w->projector, set, first, end, &w->batch);
        for (int64_t v = 0; v < at.views; v += MAX_VIEWS) {
            const int views = (int)int_min(MAX_VIEWS, at.views - v);
            worker_footprints(w, at.view + v, views);
            w->beam->back(w, at, at.view + v, views, tile + v * w->view_stride, overwrite && v == 0,
                          x);
        }
    }
}
