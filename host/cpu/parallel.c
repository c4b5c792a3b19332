/* Parallel beam: every detector row is its own slice. Work goes in bricks of a pixel block
 * (PIXEL_ROWS x PIXEL_COLS) by SLICES slices, 512 KiB of volume that stay in L2 while all views of
 * a view block pass by, each with the ~75 detector columns that the brick touches. Forward: a task
 * owns (view block, slice block) tiles; back: a task owns a brick. So nobody else writes what a
 * task writes, sums have one order, and no result depends on the number of threads. */
#include <omp.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/cpu/parallel_kernel.h"

#define PIXEL_ROWS 32
#define PIXEL_COLS 64

struct plan {
    const struct projector *projector;
    struct pixel_blocks blocks;
    int64_t slice_blocks;
    int64_t view_stride;  /* floats of one view's tile */
    int64_t views;        /* of a view block */
    size_t weight_floats; /* of one thread's footprints */
};

/* One thread's footprints of MAX_VIEWS views for one batch. */
struct feet {
    struct footprints views[MAX_VIEWS];
    struct pixel_batch batch;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static enum err plan_create(struct plan *plan, const struct projector *p,
                            const struct pixel_set *pixels)
{
    plan->projector = p;
    plan->slice_blocks = (p->volume.slices + SLICES - 1) / SLICES;
    plan->view_stride = p->columns * SLICES + 16;
    plan->weight_floats = (size_t)(MAX_VIEWS * p->taps * BATCH);
    return pixel_blocks_create(p, pixels, PIXEL_ROWS, PIXEL_COLS, &plan->blocks);
}

static void feet_init(struct feet *f, float *weights, int taps)
{
    for (int v = 0; v < MAX_VIEWS; v++)
        f->views[v].weight = weights + (int64_t)v * taps * BATCH;
}

/* One brick against views [view, view + views) whose first tile is `tile`, MAX_VIEWS at a time.
 * With `x_out` back projects into it (setting it in the first group when `set`), else forward
 * projects x. */
static void brick(const struct plan *plan, struct feet *feet, int64_t block, int64_t slice,
                  int64_t view, int64_t views, int power, int set, float *tile, const float *x,
                  float *x_out)
{
    const struct projector *p = plan->projector;
    const struct footprint_kernels *footprints = ISA_PICK(footprint_kernels);
    const struct parallel_kernels *kernels = ISA_PICK(parallel_kernels);
    const int64_t end = plan->blocks.first[block + 1];
    struct parallel_block b = {.pixels = &feet->batch,
                               .footprints = feet->views,
                               .taps = p->taps,
                               .slice = slice,
                               .count = least(SLICES, p->volume.slices - slice),
                               .view_stride = plan->view_stride};
    for (int64_t first = plan->blocks.first[block]; first < end; first += BATCH) {
        batch_fill(p, &plan->blocks.set, first, end, &feet->batch);
        for (int64_t group = 0; group < views; group += MAX_VIEWS) {
            b.views = (int)least(MAX_VIEWS, views - group);
            float *at = tile + group * plan->view_stride;
            for (int v = 0; v < b.views; v++)
                footprints->compute(p, view + group + v, &feet->batch, power, &feet->views[v]);
            if (x_out)
                kernels->back(&b, at, set && group == 0, x_out);
            else
                kernels->forward(&b, x, at);
        }
    }
}

/* Tiles of a whole view block and slice block per thread; at least 4 tasks for each thread where
 * there are that many views. */
static int64_t forward_views(const struct plan *plan, const struct pixel_set *pixels, int threads)
{
    const int64_t views = plan->projector->scan.views;
    int64_t fit = scratch_floats(plan->projector, pixels) / threads / plan->view_stride;
    int64_t fair = views * plan->slice_blocks / (4 * threads);
    return most(1, least(least(fit, fair), least(views, 8 * MAX_VIEWS)));
}

enum err parallel_forward(struct backend *be, const struct projector *p,
                          const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    struct plan plan;
    TRY(plan_create(&plan, p, pixels));
    plan.views = forward_views(&plan, pixels, be->threads);
    const size_t tile_floats = (size_t)(plan.views * plan.view_stride),
                 each = tile_floats + plan.weight_floats;
    void *scratch;
    enum err e =
        mem_alloc("forward projection tiles", (size_t)be->threads * each * sizeof(float), &scratch);
    if (e != ERR_OK)
        goto out;
#pragma omp parallel num_threads(be->threads)
    {
        float *tile = (float *)scratch + (size_t)omp_get_thread_num() * each;
        struct feet feet;
        feet_init(&feet, tile + tile_floats, p->taps);
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += plan.views)
            for (int64_t kb = 0; kb < plan.slice_blocks; kb++) {
                const int64_t views = least(plan.views, p->scan.views - view), slice = kb * SLICES;
                memset(tile, 0, tile_floats * sizeof *tile);
                for (int64_t b = 0; b < plan.blocks.count; b++)
                    brick(&plan, &feet, b, slice, view, views, 1, 0, tile, x, NULL);
                for (int64_t v = 0; v < views; v++)
                    tile_store(p, tile + v * plan.view_stride, SLICES, view + v, slice,
                               least(SLICES, p->volume.slices - slice), y);
            }
    }
    mem_free(scratch);
out:
    pixel_blocks_free(&plan.blocks);
    return e;
}

enum err parallel_back(struct backend *be, const struct projector *p,
                       const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                       int power, float *x)
{
    struct plan plan;
    TRY(plan_create(&plan, p, pixels));
    int64_t fit = scratch_floats(p, pixels) / (plan.slice_blocks * plan.view_stride);
    plan.views =
        least(p->scan.views, most(1, fit >= MAX_VIEWS ? fit / MAX_VIEWS * MAX_VIEWS : fit));
    const size_t tile_floats = (size_t)(plan.views * plan.view_stride); /* of one slice block */
    const size_t shared = (size_t)plan.slice_blocks * tile_floats;
    void *scratch;
    enum err e =
        mem_alloc("back projection tiles",
                  (shared + (size_t)be->threads * plan.weight_floats) * sizeof(float), &scratch);
    if (e != ERR_OK)
        goto out;
#pragma omp parallel num_threads(be->threads)
    {
        float *tiles = scratch;
        struct feet feet;
        feet_init(&feet, tiles + shared + (size_t)omp_get_thread_num() * plan.weight_floats,
                  p->taps);
        for (int64_t view = 0; view < p->scan.views; view += plan.views) {
            const int64_t views = least(plan.views, p->scan.views - view);
#pragma omp for collapse(2) schedule(static)
            for (int64_t v = 0; v < views; v++)
                for (int64_t kb = 0; kb < plan.slice_blocks; kb++)
                    tile_load(p, y, w, view + v, kb * SLICES,
                              least(SLICES, p->scan.rows - kb * SLICES),
                              tiles + (size_t)kb * tile_floats + v * plan.view_stride, SLICES);
#pragma omp for collapse(2) schedule(dynamic, 1)
            for (int64_t kb = 0; kb < plan.slice_blocks; kb++)
                for (int64_t b = 0; b < plan.blocks.count; b++)
                    brick(&plan, &feet, b, kb * SLICES, view, views, power, view == 0,
                          tiles + (size_t)kb * tile_floats, NULL, x);
        }
    }
    mem_free(scratch);
out:
    pixel_blocks_free(&plan.blocks);
    return e;
}
