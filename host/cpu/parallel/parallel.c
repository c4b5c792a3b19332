/* Parallel beam: every detector row is its own slice. Work goes in bricks of a pixel group
 * (PIXEL_ROWS x PIXEL_COLS) by SLICES slices. A tile holds all columns of one slice block and a
 * block of views; the ~75 columns that a brick touches stay in L2 (64 views: 1.2 MiB), those under
 * a block of 8 x 8 pixels and MAX_VIEWS views in L1. Forward: a task owns a tile; back: a task
 * owns a brick. So nobody else writes what a task writes, sums have one order, and no result
 * depends on the number of threads. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/parallel/lines.h"
#include "host/cpu/parallel/parallel.h"
#include "host/cpu/parallel/pixel_blocks.h"

/* A batch of pixels against tiles of parallel beams: SLICES slices at a time. */

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

#define PIXEL_ROWS 32
#define PIXEL_COLS 64

struct list_plan {
    struct pixel_groups groups;
    int64_t slice_blocks;
    int64_t view_stride; /* floats of one view's tile */
    int64_t views;       /* of a tile */
    size_t tile_floats, worker_floats;
};

static struct tile_region parallel_region(const struct projector *p, int64_t view, int64_t views,
                                          int64_t slice_block)
{
    const int64_t slice = slice_block * SLICES;
    return (struct tile_region){view, int_min(views, p->scan.views - view), slice,
                                int_min(SLICES, p->volume.slices - slice)};
}

static enum err plan_create(struct list_plan *plan, const struct projector *p,
                            const struct pixel_set *pixels)
{
    plan->slice_blocks = (p->volume.slices + SLICES - 1) / SLICES;
    plan->view_stride = p->columns * SLICES + 16; /* an odd number of lines, against aliasing */
    plan->worker_floats = worker_floats(p);
    return pixel_groups_create(p, pixels, PIXEL_ROWS, PIXEL_COLS, &plan->groups);
}

static void plan_views(struct list_plan *plan, int64_t views)
{
    plan->views = views;
    plan->tile_floats = (size_t)(views * plan->view_stride);
}

/* Steps of the loops: a group of pixels in a block of slices, by the views of a tile. */
static int64_t list_steps(const struct list_plan *plan, const struct projector *p)
{
    return (p->scan.views + plan->views - 1) / plan->views * plan->slice_blocks *
           plan->groups.count;
}

static enum err list_forward(struct backend *be, const struct projector *p,
                             const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    struct list_plan plan;
    TRY(plan_create(&plan, p, pixels));
    /* A tile per thread, and at least 4 tasks for each thread where there are that many views. */
    int64_t fit = scratch_floats(p, pixels, 1) / threads / plan.view_stride;
    int64_t fair = p->scan.views * plan.slice_blocks / (4 * threads);
    plan_views(&plan,
               int_max(1, int_min(int_min(fit, fair), int_min(p->scan.views, 8 * MAX_VIEWS))));
    const size_t each = plan.tile_floats + plan.worker_floats;
    void *scratch;
    enum err e =
        mem_alloc("forward projection tiles", (size_t)threads * each * sizeof(float), &scratch);
    if (e != ERR_OK)
        goto out;
    struct course way = {be, list_steps(&plan, p), 0};
#pragma omp parallel num_threads(threads)
    {
        float *tile = (float *)scratch + (size_t)omp_get_thread_num() * each;
        struct parallel_worker w;
        parallel_worker_init(&w, p, tile + plan.tile_floats, SLICES, plan.view_stride, 1);
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += plan.views)
            for (int64_t kb = 0; kb < plan.slice_blocks; kb++) {
                if (backend_stopped(be))
                    continue;
                const struct tile_region at = parallel_region(p, view, plan.views, kb);
                memset(tile, 0, plan.tile_floats * sizeof *tile);
                for (int64_t g = 0; g < plan.groups.count && course_next(&way); g++)
                    worker_forward(&w.base, &plan.groups.set, plan.groups.first[g],
                                   plan.groups.first[g + 1], at, x, tile);
                for (int64_t v = 0; v < at.views; v++)
                    tile_store(p, tile + v * plan.view_stride, SLICES, view + v, at.slice,
                               at.slices, y);
            }
    }
    mem_free(scratch);
out:
    pixel_groups_free(&plan.groups);
    return e;
}

static enum err list_back(struct backend *be, const struct projector *p,
                          const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                          int power, float *x)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    struct list_plan plan;
    TRY(plan_create(&plan, p, pixels));
    int64_t fit =
        scratch_floats(p, pixels, y.data || w.data) / (plan.slice_blocks * plan.view_stride);
    fit = fit >= MAX_VIEWS ? fit / MAX_VIEWS * MAX_VIEWS : fit;
    plan_views(&plan, int_min(p->scan.views, int_max(1, fit)));
    const size_t shared = (size_t)plan.slice_blocks * plan.tile_floats;
    void *scratch;
    enum err e =
        mem_alloc("back projection tiles",
                  (shared + (size_t)threads * plan.worker_floats) * sizeof(float), &scratch);
    if (e != ERR_OK)
        goto out;
    struct course way = {be, list_steps(&plan, p), 0};
#pragma omp parallel num_threads(threads)
    {
        float *tiles = scratch;
        struct parallel_worker worker;
        parallel_worker_init(&worker, p,
                             tiles + shared + (size_t)omp_get_thread_num() * plan.worker_floats,
                             SLICES, plan.view_stride, power);
        for (int64_t view = 0; view < p->scan.views; view += plan.views) {
            const int64_t views = int_min(plan.views, p->scan.views - view);
#pragma omp for collapse(2) schedule(static)
            for (int64_t v = 0; v < views; v++)
                for (int64_t kb = 0; kb < plan.slice_blocks; kb++)
                    tile_load(p, y, w, view + v, kb * SLICES,
                              int_min(SLICES, p->scan.rows - kb * SLICES),
                              tiles + (size_t)kb * plan.tile_floats + v * plan.view_stride, SLICES);
#pragma omp for collapse(2) schedule(dynamic, 1)
            for (int64_t kb = 0; kb < plan.slice_blocks; kb++)
                for (int64_t g = 0; g < plan.groups.count; g++)
                    if (course_next(&way))
                        worker_back(&worker.base, &plan.groups.set, plan.groups.first[g],
                                    plan.groups.first[g + 1], parallel_region(p, view, views, kb),
                                    tiles + (size_t)kb * plan.tile_floats, view == 0, x);
        }
    }
    mem_free(scratch);
out:
    pixel_groups_free(&plan.groups);
    return e;
}

enum err parallel_forward(struct backend *be, const struct projector *p,
                          const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    struct pixel_blocks s;
    if (lines_fit(p, pixels, 1))
        return lines_forward(be, p, pixels, x, y);
    enum err e = pixel_blocks_create(p, pixels, 1, &s);
    if (!e)
        e = s.count ? pixel_blocks_forward(be, p, &s, pixels, x, y)
                    : list_forward(be, p, pixels, x, y);
    pixel_blocks_free(&s);
    return e;
}

enum err parallel_back(struct backend *be, const struct projector *p,
                       const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                       int power, float *x)
{
    struct pixel_blocks s;
    if (lines_fit(p, pixels, power))
        return lines_back(be, p, pixels, y, w, x);
    enum err e = pixel_blocks_create(p, pixels, block_two_taps(p, power) ? 2 : 1, &s);
    if (!e)
        e = s.count ? pixel_blocks_back(be, p, &s, pixels, y, w, power, x)
                    : list_back(be, p, pixels, y, w, power, x);
    pixel_blocks_free(&s);
    return e;
}
