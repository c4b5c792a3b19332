/* Projects orbits (orbit.h) of a cone beam's scan. Tiles hold views of all members, those of one
 * member next to each other; else as in cone.c. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/cone/orbit.h"

void orbit_worker_init(struct orbit_worker *w, const struct projector *p, const struct orbits *o,
                       float *scratch, int64_t ld, int64_t view_stride, int64_t views, int power)
{
    cone_worker_init(&w->cone, p, scratch, ld, view_stride, power);
    w->cone.block.z_squared = p->z_squared;
    w->block = (struct orbit_block){
        .cone = &w->cone.block, .members = o->members, .member_stride = views * view_stride};
}

/* Fills the batch [first, end) of the orbits' first pixels, and turns it. */
static void orbit_worker_fill(struct orbit_worker *w, const struct orbits *o, int64_t first,
                              int64_t end)
{
    const struct projector *p = w->cone.base.projector;
    batch_fill(p, &o->groups.set, first, end, &w->turned[0]);
    for (int t = 1; t < o->turns; t++)
        orbit_turn_batch(p, o, &w->turned[t - 1], &w->turned[t]);
    for (int t = 0; t < o->turns && o->place; t++)
        for (int q = 0; q < w->turned[t].n; q++)
            w->turned[t].cylinder[q] =
                o->place[w->turned[t].cylinder[q] / p->volume.slices] * p->volume.slices;
}

/* The first member sees the pixels after `turn` turns, in `views` views from `view` on. */
static void orbit_worker_see(struct orbit_worker *w, const struct orbits *o, int64_t view,
                             int views, int turn)
{
    const struct projector *p = w->cone.base.projector;
    const struct footprint_kernels *footprints = ISA_PICK(footprint_kernels);
    const struct cone_reach_kernels *reach = ISA_PICK(cone_reach_kernels);
    w->cone.block.views = views;
    for (int m = 0; m < o->members; m++) {
        const struct pixel_batch *batch = &w->turned[(turn + m) % o->turns];
        w->block.pixels[m] = batch;
        for (int v = 0; v < views; v++) {
            struct footprints *f = &w->cone.base.footprints[v * o->members + m];
            const int64_t seen = view + v + m * o->views;
            const int power = w->cone.base.power;
            if (m && !p->scan.curved)
                footprints->turned(p, seen, batch, power, f - m, f);
            else
                footprints->compute(p, seen, batch, power, f);
            (m ? reach->widen : reach->find)(p, f, batch->n, &w->cone.reach[v]);
        }
    }
}

void orbit_worker_forward(struct orbit_worker *w, const struct orbits *o, int64_t first,
                          int64_t end, struct orbit_views at, const float *x, float *tile)
{
    const int each = MAX_VIEWS / o->members;
    for (; first < end; first += BATCH) {
        orbit_worker_fill(w, o, first, end);
        for (int64_t v = 0; v < at.count; v += each)
            for (int turn = 0; turn < o->turns; turn++) {
                orbit_worker_see(w, o, at.first + v, (int)int_min(each, at.count - v), turn);
                ISA_PICK(orbit_kernels)->forward(&w->block, x, tile + v * w->cone.base.view_stride);
            }
    }
}

void orbit_worker_back(struct orbit_worker *w, const struct orbits *o, int64_t first, int64_t end,
                       struct orbit_views at, const float *tile, float *x)
{
    const int each = MAX_VIEWS / o->members;
    const size_t bytes = (size_t)w->cone.base.projector->volume.slices * sizeof *x;
    for (; first < end; first += BATCH) {
        orbit_worker_fill(w, o, first, end);
        for (int t = 0; t < o->turns && at.first == 0; t++)
            for (int q = 0; q < w->turned[t].n; q++)
                memset(x + w->turned[t].cylinder[q], 0, bytes);
        for (int64_t v = 0; v < at.count; v += each)
            for (int turn = 0; turn < o->turns; turn++) {
                orbit_worker_see(w, o, at.first + v, (int)int_min(each, at.count - v), turn);
                ISA_PICK(orbit_kernels)->back(&w->block, tile + v * w->cone.base.view_stride, x);
            }
    }
}

static struct tile_region orbit_region(const struct orbits *o, struct orbit_views at, int member)
{
    return (struct tile_region){at.first + member * o->views, at.count, 0, 0};
}

static struct orbit_views orbit_views_at(const struct orbits *o, int64_t first, int64_t most)
{
    return (struct orbit_views){first, int_min(most, o->views - first)};
}

enum err orbit_forward(struct backend *be, const struct projector *p, const struct orbits *o,
                       const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    const size_t own = cone_worker_floats(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    const int64_t fit = scratch_floats(p, pixels, 1) / threads / view_stride / o->members;
    const int64_t fair = o->views / (4 * threads); /* 4 tasks for each thread */
    const int64_t views = int_max(1, int_min(fit, fair));
    const size_t tile_floats = (size_t)(views * view_stride * o->members);
    const size_t each = tile_floats + own;
    void *memory;
    TRY(mem_alloc("forward projection tiles", (size_t)threads * each * sizeof(float), &memory));
    struct course way = {be, (o->views + views - 1) / views * o->groups.count, 0};
#pragma omp parallel num_threads(threads)
    {
        float *tile = (float *)memory + (size_t)omp_get_thread_num() * each;
        struct orbit_worker w;
        orbit_worker_init(&w, p, o, tile + tile_floats, ld, view_stride, views, 1);
#pragma omp for schedule(dynamic, 1)
        for (int64_t view = 0; view < o->views; view += views) {
            const struct orbit_views at = orbit_views_at(o, view, views);
            if (backend_stopped(be))
                continue;
            memset(tile, 0, tile_floats * sizeof *tile);
            for (int64_t g = 0; g < o->groups.count && course_next(&way); g++)
                orbit_worker_forward(&w, o, o->groups.first[g], o->groups.first[g + 1], at, x,
                                     tile);
            for (int m = 0; m < o->members; m++) {
                float *own_tile = tile + m * w.block.member_stride;
                worker_forward(&w.cone.base, &o->rest, 0, o->rest.count, orbit_region(o, at, m), x,
                               own_tile);
                for (int64_t v = 0; v < at.count; v++)
                    tile_store(p, own_tile + v * view_stride, ld, at.first + v + m * o->views, 0,
                               p->scan.rows, y);
            }
        }
    }
    mem_free(memory);
    return ERR_OK;
}

enum err orbit_back(struct backend *be, const struct projector *p, const struct orbits *o,
                    const struct pixel_set *pixels, struct sinogram y, struct sinogram w, int power,
                    float *x)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    const size_t own = cone_worker_floats(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    const int64_t fit = scratch_floats(p, pixels, y.data || w.data) / view_stride / o->members;
    const int64_t views = int_max(1, int_min(fit, o->views)), planes = views * o->members;
    const size_t tile_floats = (size_t)(planes * view_stride);
    void *memory;
    TRY(mem_alloc("back projection tiles", (tile_floats + (size_t)threads * own) * sizeof(float),
                  &memory));
    struct course way = {be, (o->views + views - 1) / views * o->groups.count, 0};
#pragma omp parallel num_threads(threads)
    {
        float *tiles = memory;
        struct orbit_worker worker;
        orbit_worker_init(&worker, p, o, tiles + tile_floats + (size_t)omp_get_thread_num() * own,
                          ld, view_stride, views, power);
        for (int64_t view = 0; view < o->views; view += views) {
            const struct orbit_views at = orbit_views_at(o, view, views);
#pragma omp for schedule(static)
            for (int64_t i = 0; i < planes; i++)
                if (i % views < at.count)
                    tile_load(p, y, w, at.first + i % views + i / views * o->views, 0, p->scan.rows,
                              tiles + i * view_stride, ld);
#pragma omp for schedule(dynamic, 1)
            for (int64_t g = 0; g < o->groups.count; g++)
                if (course_next(&way))
                    orbit_worker_back(&worker, o, o->groups.first[g], o->groups.first[g + 1], at,
                                      tiles, x);
#pragma omp for schedule(dynamic, 1)
            for (int64_t q = 0; q < o->rest.count; q += BATCH)
                for (int m = 0; m < o->members && !backend_stopped(be); m++)
                    worker_back(&worker.cone.base, &o->rest, q, int_min(q + BATCH, o->rest.count),
                                orbit_region(o, at, m), tiles + m * worker.block.member_stride,
                                view == 0 && m == 0, x);
        }
    }
    mem_free(memory);
    return ERR_OK;
}
