/* The passes of a subset of VCD over the error sinogram, cone beams, where subsets are whole orbits
 * (host/cpu/cone/orbit.h): the views of an orbit are taken together, so that an update costs as
 * little as in whole images. Else as in error_sinogram.c. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/cone/orbit.h"
#include "host/cpu/vcd/error_views.h"
#include "host/cpu/vcd/iteration.h"

#define LOOK_ORBITS (16 * BATCH) /* between two looks at backend_stopped */

struct orbit_passes {
    struct iteration base;   /* first: a struct iteration * is one of these */
    struct orbits orbits[2]; /* of this subset and the last one */
    int32_t *first[2], *place[2];
    struct planes planes;
    int threads;
    int64_t views;          /* of each member, between a pass over them and their back projection */
    size_t own;             /* floats of a thread: a tile of an orbit's views, and its worker */
    double (*partial)[2];   /* [views of the scan] */
    float *tiles, *scratch; /* [members][views], [threads] */
    void *memory;
};

/* Returns 1 where each subset is whole orbits; `first` and `place` are scratch. */
static int orbit_subsets_whole(const struct projector *p, const struct vcd_iteration *s,
                               const struct orbits *o, int32_t *place, int32_t *first)
{
    for (int64_t i = 0; i < s->subsets; i++)
        if (orbits_of_list(p, o, s->indices + i * s->length, s->length, place, first) < 0)
            return 0;
    return 1;
}

/* Marks this subset's orbits. */
static void orbit_passes_see(struct orbit_passes *t, const struct pixel_set *pixels)
{
    const int odd = t->base.odd;
    struct orbits *o = &t->orbits[odd];
    const int64_t n = pixels ? orbits_of_list(t->base.p, o, pixels->indices, pixels->count,
                                              t->place[odd], t->first[odd])
                             : 0;
    o->groups.set = (struct pixel_set){t->first[odd], n, 0};
    o->place = t->place[odd];
}

/* Adds the projection of all orbits to a tile of one view of each member. */
static void orbit_project(const struct orbit_passes *t, struct orbit_worker *w,
                          const struct orbits *o, int64_t view, const float *x, float *tile)
{
    const int64_t n = o->groups.set.count;
    const struct orbit_views at = {view, 1};
    w->block.member_stride = t->planes.stride;
    for (int64_t i = 0; i < n && !iteration_stopped(&t->base); i += LOOK_ORBITS)
        orbit_worker_forward(w, o, i, int_min(i + LOOK_ORBITS, n), at, x, tile);
}

/* Takes the last move out of e in the views of orbit `view`, and fills their tiles: the first of
 * `views` for each member. */
static void orbit_update_views(const struct orbit_passes *t, struct orbit_worker *w,
                               const struct vcd_move *last, int64_t view, float *d, float *tiles)
{
    const struct orbits *o = &t->orbits[!t->base.odd];
    const struct vcd_iteration *s = t->base.s;
    const struct sinogram e = {s->error, SINO_ROWS_FASTEST};
    const struct sinogram weights = {(struct buffer *)s->weights, SINO_ROWS_FASTEST};
    if (last)
        orbit_project(t, w, o, view, last->delta->ptr, d);
    for (int m = 0; m < o->members; m++) {
        float *tile = tiles + m * t->views * t->planes.stride;
        const int64_t at = view + m * o->views;
        if (last)
            error_update_view(t->base.p, last->alpha, s->error, s->weights, at, &t->planes,
                              d + m * t->planes.stride, tile);
        else
            tile_load(t->base.p, e, weights, at, 0, t->base.p->scan.rows, tile, t->planes.ld);
    }
}

static float *orbit_open_worker(const struct orbit_passes *t, struct orbit_worker *w)
{
    const struct orbits *o = &t->orbits[0];
    const size_t floats = (size_t)(o->members * t->planes.stride);
    float *d = t->scratch + (size_t)omp_get_thread_num() * t->own;
    orbit_worker_init(w, t->base.p, o, d + floats, t->planes.ld, t->planes.stride, 1, 1);
    memset(d, 0, floats * sizeof *d);
    return d;
}

/* Back projection takes one orbit of views after the other, so that no sum depends on the number of
 * threads. */
static enum err orbit_pass_back(struct iteration *it, const struct vcd_move *last,
                                const struct pixel_set *pixels, struct buffer *d)
{
    struct orbit_passes *t = (struct orbit_passes *)it;
    const struct orbits *o = &t->orbits[it->odd];
    orbit_passes_see(t, pixels);
    const int64_t n = o->groups.set.count;
    const int64_t run = int_max(8, int_min(BATCH, n / (8 * t->threads)));
#pragma omp parallel num_threads(t->threads)
    {
        struct orbit_worker w;
        float *own = orbit_open_worker(t, &w);
        for (int64_t view = 0; view < o->views; view += t->views) {
            const struct orbit_views at = {view, int_min(t->views, o->views - view)};
#pragma omp for schedule(dynamic, 1)
            for (int64_t v = 0; v < at.count; v++)
                orbit_update_views(t, &w, last, view + v, own, t->tiles + v * t->planes.stride);
            w.block.member_stride = t->views * t->planes.stride;
#pragma omp for schedule(dynamic, 1)
            for (int64_t first = 0; first < n; first += run)
                for (int64_t v = 0; v < at.count && !iteration_stopped(it); v++)
                    orbit_worker_back(&w, o, first, int_min(first + run, n),
                                      (struct orbit_views){view + v, 1},
                                      t->tiles + v * t->planes.stride, d->ptr);
        }
    }
    error_declare_work(it->be, it->p,
                       (pixels ? pixels->count : 0) + (last ? last->pixels.count : 0), 1,
                       (it->s->weights ? 2 : 1) + (last ? 1 : 0));
    return ERR_OK;
}

static enum err orbit_pass_norm(struct iteration *it, const struct pixel_set *pixels,
                                const struct buffer *d, double *quadratic)
{
    struct orbit_passes *t = (struct orbit_passes *)it;
    const struct orbits *o = &t->orbits[it->odd];
    memset(t->partial, 0, (size_t)it->p->scan.views * sizeof *t->partial);
#pragma omp parallel num_threads(t->threads)
    {
        struct orbit_worker w;
        float *own = orbit_open_worker(t, &w);
#pragma omp for schedule(dynamic, 1)
        for (int64_t view = 0; view < o->views; view++) {
            orbit_project(t, &w, o, view, d->ptr, own);
            for (int m = 0; m < o->members; m++)
                error_view_dots(it->p, &t->planes, own + m * t->planes.stride, NULL, it->s->weights,
                                view + m * o->views, t->partial[view + m * o->views]);
        }
    }
    *quadratic = 0;
    for (int64_t view = 0; view < it->p->scan.views; view++)
        *quadratic += t->partial[view][1];
    error_declare_work(it->be, it->p, pixels->count, 1, it->s->weights ? 1 : 0);
    return ERR_OK;
}

static void orbit_close(struct iteration *it)
{
    struct orbit_passes *t = (struct orbit_passes *)it;
    mem_free(t->memory);
    free(t);
}

static const struct iteration_passes orbit_passes = {orbit_pass_back, orbit_pass_norm, orbit_close};

/* Returns the floats that hold `bytes`, in whole cache lines. */
static size_t orbit_lines(size_t bytes)
{
    return (bytes + 63) / 64 * (64 / sizeof(float));
}

static enum err orbit_allocate(struct orbit_passes *t)
{
    const struct projector *p = t->base.p;
    const int members = t->orbits[0].members;
    const size_t place = orbit_lines((size_t)volume_pixels(&p->volume) * sizeof(int32_t));
    const size_t first = orbit_lines((size_t)t->base.s->length * sizeof(int32_t));
    const size_t sums = orbit_lines((size_t)p->scan.views * sizeof *t->partial);
    const size_t tiles = (size_t)(members * t->views * t->planes.stride);
    t->own = (size_t)(members * t->planes.stride) + cone_worker_floats(p);
    TRY(mem_alloc("error sinogram tiles",
                  (sums + 2 * (place + first) + tiles + (size_t)t->threads * t->own) *
                      sizeof(float),
                  &t->memory));
    float *at = t->memory;
    t->partial = t->memory;
    at += sums;
    memset(at, 0, 2 * place * sizeof *at);
    for (int i = 0; i < 2; i++, at += place)
        t->place[i] = (int32_t *)(void *)at;
    for (int i = 0; i < 2; i++, at += first)
        t->first[i] = (int32_t *)(void *)at;
    t->tiles = at;
    t->scratch = at + tiles;
    return ERR_OK;
}

enum err orbit_passes_open(const struct iteration *it, struct iteration **out)
{
    struct orbits o;
    if (it->p->scan.beam != BEAM_CONE)
        return ERR_OK;
    orbits_of_views(it->p, &o);
    const int threads = cpu_team(it->be, scan_samples(&it->p->scan));
    if (!o.members)
        return ERR_OK;
    struct orbit_passes *t = malloc(sizeof *t);
    FAIL_IF(!t, ERR_MEMORY, "no memory for an iteration");
    *t = (struct orbit_passes){
        .base = *it, .orbits = {o, o}, .planes = planes_of(it->p), .threads = threads};
    t->base.passes = &orbit_passes;
    const int64_t near = int_max(1, L2_FLOATS / (o.members * t->planes.stride));
    t->views = int_min(o.views, near * threads);
    const enum err e = orbit_allocate(t);
    if (e) {
        free(t);
        return e;
    }
    if (orbit_subsets_whole(it->p, it->s, &o, t->place[0], t->first[0]))
        *out = &t->base;
    else
        orbit_close(&t->base);
    return ERR_OK;
}
