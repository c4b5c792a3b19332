/* Cone beam: every pixel and view has its own vertical magnification, so the unit of work is a
 * whole cylinder in one view. Forward: each task owns the tiles of a few views and streams the
 * volume past them. Back: all threads share the tiles of a view block and own ranges of pixels. No
 * result depends on the number of threads. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/cone/cone.h"
#include "host/cpu/cone/cone_worker.h"

/* A batch of pixels against tiles of cone beams: whole cylinders. */

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
    s.copy = at, at += (size_t)longest;
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

/* A group of cylinders (512 KiB at 512 slices) stays in L2 while the views pass by, each with the
 * ~24 detector columns that it touches. */
#define PIXEL_ROWS 16
#define PIXEL_COLS 16

enum err cone_forward(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                      const float *x, struct sinogram y)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    const size_t own = cone_worker_floats(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    const int64_t fit = scratch_floats(p, pixels, 1) / threads / view_stride;
    const int64_t fair = p->scan.views / (4 * threads); /* 4 tasks for each thread */
    const int64_t views = int_max(1, int_min(fit, fair));
    const size_t tile_floats = (size_t)(views * view_stride), each = tile_floats + own;
    struct pixel_groups groups;
    TRY(pixel_groups_create(p, pixels, PIXEL_ROWS, PIXEL_COLS, &groups));
    void *memory;
    enum err e =
        mem_alloc("forward projection tiles", (size_t)threads * each * sizeof(float), &memory);
    if (e != ERR_OK)
        goto out;
    struct course way = {be, (p->scan.views + views - 1) / views * groups.count, 0};
#pragma omp parallel num_threads(threads)
    {
        float *tile = (float *)memory + (size_t)omp_get_thread_num() * each;
        struct cone_worker w;
        cone_worker_init(&w, p, tile + tile_floats, ld, view_stride, 1);
#pragma omp for schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += views) {
            if (backend_stopped(be))
                continue;
            const struct tile_region at = {view, int_min(views, p->scan.views - view), 0, 0};
            memset(tile, 0, tile_floats * sizeof *tile);
            for (int64_t g = 0; g < groups.count && course_next(&way); g++)
                worker_forward(&w.base, &groups.set, groups.first[g], groups.first[g + 1], at, x,
                               tile);
            for (int64_t v = 0; v < at.views; v++)
                tile_store(p, tile + v * view_stride, ld, view + v, 0, p->scan.rows, y);
        }
    }
    mem_free(memory);
out:
    pixel_groups_free(&groups);
    return e;
}

enum err cone_back(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, float *x)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    const size_t own = cone_worker_floats(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    const int64_t fit = scratch_floats(p, pixels, y.data || w.data) / view_stride;
    const int64_t views = int_max(1, int_min(fit, p->scan.views));
    const size_t tile_floats = (size_t)(views * view_stride);
    struct pixel_groups groups;
    TRY(pixel_groups_create(p, pixels, PIXEL_ROWS, PIXEL_COLS, &groups));
    void *memory;
    enum err e = mem_alloc("back projection tiles",
                           (tile_floats + (size_t)threads * own) * sizeof(float), &memory);
    if (e != ERR_OK)
        goto out;
    struct course way = {be, (p->scan.views + views - 1) / views * groups.count, 0};
#pragma omp parallel num_threads(threads)
    {
        float *tiles = memory;
        struct cone_worker worker;
        cone_worker_init(&worker, p, tiles + tile_floats + (size_t)omp_get_thread_num() * own, ld,
                         view_stride, power);
        for (int64_t view = 0; view < p->scan.views; view += views) {
            const struct tile_region at = {view, int_min(views, p->scan.views - view), 0, 0};
#pragma omp for schedule(static)
            for (int64_t v = 0; v < at.views; v++)
                tile_load(p, y, w, view + v, 0, p->scan.rows, tiles + v * view_stride, ld);
#pragma omp for schedule(dynamic, 1)
            for (int64_t g = 0; g < groups.count; g++)
                if (course_next(&way))
                    worker_back(&worker.base, &groups.set, groups.first[g], groups.first[g + 1], at,
                                tiles, view == 0, x);
        }
    }
    mem_free(memory);
out:
    pixel_groups_free(&groups);
    return e;
}
