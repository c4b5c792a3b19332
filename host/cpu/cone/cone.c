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
#include "host/cpu/cone/orbit.h"

/* A group of cylinders (512 KiB at 512 slices) stays in L2 while the views pass by, each with the
 * ~24 detector columns that it touches. */
#define PIXEL_ROWS 16
#define PIXEL_COLS 16

static enum err list_forward(struct backend *be, const struct projector *p,
                             const struct pixel_set *pixels, const float *x, struct sinogram y)
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

static enum err list_back(struct backend *be, const struct projector *p,
                          const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                          int power, float *x)
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

enum err cone_forward(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                      const float *x, struct sinogram y)
{
    struct orbits o;
    TRY(orbits_create(p, pixels, &o));
    enum err e =
        o.members ? orbit_forward(be, p, &o, pixels, x, y) : list_forward(be, p, pixels, x, y);
    orbits_free(&o);
    return e;
}

enum err cone_back(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, float *x)
{
    struct orbits o;
    TRY(orbits_create(p, pixels, &o));
    enum err e = o.members ? orbit_back(be, p, &o, pixels, y, w, power, x)
                           : list_back(be, p, pixels, y, w, power, x);
    orbits_free(&o);
    return e;
}
