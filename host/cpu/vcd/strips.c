/* The passes of a subset of VCD over the error sinogram, parallel beams. Slices are independent but
 * for the prior and the length of the step, so a task owns a strip of STRIP slices, in all views:
 * it takes the last move out of the strip's error sinogram and back projects it for this subset
 * while a view's columns are in registers. For that e and w lie strip by strip within each view
 * while the iteration lasts. A subset then reads e once and writes it once, and reads w twice: <w
 * e, A delta> = <A' w e, delta> comes from the back projection, <w A delta, A delta> from a
 * projection into L1. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/cpu/common/arithmetic.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/vcd/footprint_table.h"
#include "host/cpu/vcd/iteration.h"

#define NORM_PARTS 4 /* of a strip's views */

struct strips {
    struct iteration base; /* first: a struct iteration * is one of these */
    const struct sparse_kernels *kernels;
    int64_t strips, plane, columns; /* columns: floats of a strip of a view */
    struct footprint_team team;
    double *norms;                   /* [strips][NORM_PARTS] */
    struct footprint_table table[2]; /* of this subset and the last one */
    float whole;                     /* see footprint_whole() */
    void *memory;
};

int strips_fit(const struct projector *p, const struct vcd_iteration *s)
{
    const struct pixel_set subset = {NULL, volume_pixels(&p->volume), 0};
    return p->scan.beam == BEAM_PARALLEL && p->taps == 2 && p->scan.channels > 1 &&
           2 * (int64_t)footprint_table_floats(p, s->length) <= scratch_floats(p, &subset, 1);
}

static int64_t strip_slice_count(const struct strips *it, int64_t strip)
{
    return int_min(STRIP, it->base.p->volume.slices - strip * STRIP);
}

/* (channel, row) <-> (strip, channel, row of the strip) in every view. */
static void sinogram_reorder(const struct strips *it, const struct buffer *sinogram, int to_strips)
{
    const int64_t rows = it->base.p->scan.rows, channels = it->base.p->scan.channels;
    const size_t bytes = (size_t)it->plane * sizeof(float);
#pragma omp parallel num_threads(it->team.threads)
    {
        float *copy = it->team.scratch + (size_t)omp_get_thread_num() * it->team.each;
#pragma omp for schedule(static)
        for (int64_t view = 0; view < it->base.p->scan.views; view++) {
            float *plane = (float *)sinogram->ptr + view * it->plane;
            if (iteration_stopped(&it->base))
                continue;
            memcpy(copy, plane, bytes);
            for (int64_t strip = 0; strip < it->strips; strip++) {
                const int64_t n = strip_slice_count(it, strip), first = strip * STRIP;
                for (int64_t c = 0; c < channels; c++) {
                    const int64_t apart = first * channels + c * n, together = c * rows + first;
                    memcpy(plane + (to_strips ? apart : together),
                           copy + (to_strips ? together : apart), (size_t)n * sizeof *copy);
                }
            }
        }
    }
}

/* n <= STRIP floats, with zeros behind up to a multiple of 16: no kernel reads further. */
static void strip_widen(const float *from, int64_t n, float scale, float *to)
{
    if (n % 16)
        memset(to + n / 16 * 16, 0, 16 * sizeof *to);
    for (int64_t k = 0; k < n; k++)
        to[k] = scale * from[k];
}

static void load_cylinders(const struct strips *it, const float *from, int64_t strip, float scale,
                           float *to)
{
    const int64_t slices = it->base.p->volume.slices, n = strip_slice_count(it, strip);
    for (int64_t q = 0; q < it->base.s->length; q++)
        strip_widen(from + q * slices + strip * STRIP, n, scale, to + q * STRIP);
    memset(to + it->base.s->length * STRIP, 0, BLANKS * STRIP * sizeof *to);
}

static void store_cylinders(const struct strips *it, const float *from, int64_t strip,
                            int64_t first, int64_t end, float *to)
{
    const int64_t slices = it->base.p->volume.slices;
    for (int64_t q = 0; q < it->base.s->length; q++)
        for (int64_t k = first; k < end; k++)
            to[q * slices + strip * STRIP + k] = it->whole * from[q * STRIP + k];
}

/* A strip of one view, padded where the strip is narrow. */
static float *strip_at(const struct strips *it, const struct buffer *b, int64_t view, int64_t strip,
                       float *padded)
{
    const int64_t n = strip_slice_count(it, strip), channels = it->base.p->scan.channels;
    float *at = (float *)b->ptr + view * it->plane + strip * STRIP * channels;
    if (n == STRIP)
        return at;
    for (int64_t c = 0; c < channels; c++)
        strip_widen(at + c * n, n, 1, padded + c * STRIP);
    return padded;
}

/* Scratch of a task. */
struct strip_memory {
    float *moved, *sum; /* [length + BLANKS][STRIP] */
    float *e, *w;       /* [channels][STRIP] */
};

static int64_t cylinder_floats(const struct strips *it)
{
    return (it->base.s->length + BLANKS) * STRIP;
}

static size_t memory_floats(const struct strips *it)
{
    return (size_t)(2 * cylinder_floats(it) + 2 * it->columns);
}

static struct strip_memory memory_of(const struct strips *it)
{
    float *at = it->team.scratch + (size_t)omp_get_thread_num() * it->team.each;
    float *sum = at + cylinder_floats(it), *e = sum + cylinder_floats(it);
    return (struct strip_memory){at, sum, e, e + it->columns};
}

/* Slices [first, end) of a strip in all views. */
struct strip_slices {
    int64_t strip, first, end;
};

static void strips_update_view(const struct strips *it, struct strip_slices at, int64_t view,
                               int64_t next, const struct footprint_table *last,
                               const struct footprint_table *now, const struct strip_memory *m)
{
    const struct vcd_iteration *s = it->base.s;
    const int64_t n = strip_slice_count(it, at.strip), channels = it->base.p->scan.channels;
    float *e = strip_at(it, s->error, view, at.strip, m->e);
    float *w = s->weights ? strip_at(it, s->weights, view, at.strip, m->w) : NULL;
    const int64_t ahead = e == m->e ? 0 : (next - view) * it->plane;
    const struct sparse_update update = {
        .taken = footprint_table_at(last, view),
        .given = footprint_table_at(now, view),
        .x = m->moved + at.first,
        .e = e + at.first,
        .w = w ? w + at.first : NULL,
        .sum = m->sum + at.first,
        .ahead = ahead,
    };
    it->kernels->update(&update, (int)round_up(at.end - at.first, 16));
    float *to = (float *)s->error->ptr + view * it->plane + at.strip * STRIP * channels + at.first;
    for (int64_t c = 0; e == m->e && c < channels; c++)
        memcpy(to + c * n, e + c * STRIP + at.first, (size_t)(at.end - at.first) * sizeof *to);
}

/* e += A moved, sum = A' w e. Views from the last to the first at every second subset: what was
 * touched last is still in the caches. */
static void update_slices(const struct strips *it, struct strip_slices at,
                          const struct footprint_table *last, const struct footprint_table *now,
                          const struct strip_memory *m)
{
    const int64_t views = it->base.p->scan.views;
    for (int64_t i = 0; i < views && !iteration_stopped(&it->base); i++) {
        const int64_t view = it->base.odd ? views - 1 - i : i;
        const int64_t next = i + 1 == views ? view : it->base.odd ? view - 1 : view + 1;
        strips_update_view(it, at, view, next, last, now, m);
    }
}

/* A pass over e: `delta` of the last move (NULL: none), `out` for this subset's back projection
 * (NULL: none). A task is a strip, or a half or quarter of it where threads are many. */
static void strips_update_back(const struct strips *it, const float *delta, double alpha,
                               float *out)
{
    const struct footprint_table *last = &it->table[delta ? !it->base.odd : it->base.odd];
    const struct footprint_table *now = &it->table[out ? it->base.odd : !it->base.odd];
    int64_t width = STRIP;
    while (width > 16 && it->strips * (STRIP / width) < it->team.threads)
        width /= 2;
#pragma omp parallel for collapse(2) num_threads(it->team.threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < it->strips; i++)
        for (int64_t first = 0; first < STRIP; first += width) {
            const int64_t strip = it->base.odd ? it->strips - 1 - i : i;
            const int64_t end = int_min(first + width, strip_slice_count(it, strip));
            const struct strip_memory m = memory_of(it);
            const size_t bytes = (size_t)cylinder_floats(it) * sizeof(float);
            if (first >= end)
                continue;
            if (delta)
                load_cylinders(it, delta, strip, (float)-alpha * it->whole, m.moved);
            else
                memset(m.moved, 0, bytes);
            memset(m.sum, 0, bytes);
            update_slices(it, (struct strip_slices){strip, first, end}, last, now, &m);
            if (out)
                store_cylinders(it, m.sum, strip, first, end, out);
        }
}

/* <w A delta, A delta>. Tasks are parts of a strip's views, the same ones for any number of
 * threads. */
static double strips_norm(const struct strips *it, const float *delta)
{
    const struct footprint_table *t = &it->table[it->base.odd];
    const int64_t views = it->base.p->scan.views, tasks = it->strips * NORM_PARTS;
#pragma omp parallel for num_threads(it->team.threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < tasks; task++) {
        struct strip_memory m = memory_of(it);
        const int64_t strip = task / NORM_PARTS, part = task % NORM_PARTS;
        const int width = (int)round_up(strip_slice_count(it, strip), 16);
        double sum = 0;
        load_cylinders(it, delta, strip, it->whole, m.moved);
        for (int64_t view = views * part / NORM_PARTS;
             view < views * (part + 1) / NORM_PARTS && !iteration_stopped(&it->base); view++) {
            const struct sparse_view v = footprint_table_at(t, view);
            const float *w =
                it->base.s->weights ? strip_at(it, it->base.s->weights, view, strip, m.w) : NULL;
            sum += it->kernels->norm(&v, width, m.moved, w);
        }
        it->norms[task] = sum;
    }
    double sum = 0;
    for (int64_t task = 0; task < tasks; task++)
        sum += it->norms[task];
    return sum;
}

/* Returns the floats that hold `count` things of `bytes`, in whole cache lines. */
static size_t floats_for(int64_t count, size_t bytes)
{
    return ((size_t)count * bytes + 63) / 64 * (64 / sizeof(float));
}

static enum err strips_allocate(struct strips *it)
{
    const int64_t length = it->base.s->length;
    const size_t sums = floats_for(it->strips * NORM_PARTS, sizeof *it->norms);
    const size_t batches = floats_for((length + BATCH - 1) / BATCH, sizeof *it->team.batches);
    const size_t table =
        floats_for((int64_t)footprint_table_floats(it->base.p, length), sizeof(float));
    it->team.each = memory_floats(it);
    if (it->team.each < (size_t)it->plane)
        it->team.each = (size_t)round_up(it->plane, 16);
    TRY(mem_alloc("footprints of two subsets",
                  (sums + batches + 2 * table + (size_t)it->team.threads * it->team.each) *
                      sizeof(float),
                  &it->memory));
    float *at = it->memory;
    it->norms = it->memory;
    at += sums;
    it->team.batches = (struct pixel_batch *)(void *)at;
    at += batches;
    for (int i = 0; i < 2; i++, at += table) {
        it->table[i] = footprint_table_of(it->base.p, length);
        it->table[i].entries = (struct sparse_entry *)(void *)at;
    }
    it->team.scratch = at;
    return ERR_OK;
}

static void strips_reorder(struct strips *it, int to_strips)
{
    sinogram_reorder(it, it->base.s->error, to_strips);
    if (it->base.s->weights)
        sinogram_reorder(it, it->base.s->weights, to_strips);
}

/* The work of a subset's two passes. */
static void strips_declare_work(const struct iteration *it)
{
    const struct vcd_iteration *s = it->s;
    const double samples = (double)scan_samples(&it->p->scan);
    const double voxels = (double)s->length * (double)it->p->volume.slices;
    const double updates = voxels * (double)it->p->scan.views;
    const double sinograms = s->weights ? 4 : 2; /* e there and back, w twice */
    backend_declare(it->be, 12 * updates + 3 * samples, 4 * (3 * voxels + sinograms * samples),
                    4 * (6 * updates + sinograms * samples));
}

static enum err strips_pass_back(struct iteration *it, const struct vcd_move *last,
                                 const struct pixel_set *pixels, struct buffer *d)
{
    struct strips *t = (struct strips *)it;
    if (pixels)
        footprint_table_fill(it->p, pixels->indices, &t->team, &t->table[it->odd]);
    strips_update_back(t, last ? last->delta->ptr : NULL, last ? last->alpha : 0,
                       pixels ? d->ptr : NULL);
    if (pixels)
        strips_declare_work(it);
    return ERR_OK;
}

static enum err strips_pass_norm(struct iteration *it, const struct pixel_set *pixels,
                                 const struct buffer *d, double *quadratic)
{
    (void)pixels;
    *quadratic = strips_norm((struct strips *)it, d->ptr);
    return ERR_OK;
}

static void strips_close(struct iteration *it)
{
    struct strips *t = (struct strips *)it;
    strips_reorder(t, 0);
    mem_free(t->memory);
    free(t);
}

static const struct iteration_passes strips_passes = {strips_pass_back, strips_pass_norm,
                                                      strips_close};

enum err strips_open(const struct iteration *it, struct iteration **out)
{
    const struct projector *p = it->p;
    struct strips *t = malloc(sizeof *t);
    FAIL_IF(!t, ERR_MEMORY, "no memory for an iteration");
    *t = (struct strips){
        .base = *it,
        .kernels = ISA_PICK(sparse_kernels),
        .strips = (p->volume.slices + STRIP - 1) / STRIP,
        .plane = p->scan.rows * p->scan.channels,
        .columns = p->scan.channels * STRIP,
        .whole = (float)footprint_whole(p),
        .team = {.be = it->be, .threads = cpu_team(it->be, scan_samples(&p->scan))}};
    t->base.passes = &strips_passes;
    const enum err e = strips_allocate(t);
    if (e) {
        free(t);
        return e;
    }
    strips_reorder(t, 1);
    *out = &t->base;
    return ERR_OK;
}
