/* An iteration of VCD over all subsets of a partition, parallel beams. Slices are independent but
 * for the prior and the length of the step, so a task owns a strip of STRIP slices, in all views:
 * it takes the last move out of the strip's error sinogram and back projects it for this subset
 * while a view's columns are in registers. For that e and w lie strip by strip within each view
 * while the iteration lasts. A subset then reads e once and writes it once, and reads w twice: <w
 * e, A delta> = <A' w e, delta> comes from the back projection, <w A delta, A delta> from a
 * projection into L1. */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/cpu/common/arithmetic.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/vcd/footprint_table.h"
#include "host/cpu/vcd/vcd.h"
#include "base/mark/mark.h"

#define NORM_PARTS 4 /* of a strip's views */

struct iteration {
    struct backend *be;
    const struct projector *p;
    const struct sparse_kernels *kernels;
    const struct vcd_iteration *s;
    int64_t strips, plane, columns; /* columns: floats of a strip of a view */
    struct footprint_team team;
    double *norms;                   /* [strips][NORM_PARTS] */
    struct footprint_table table[2]; /* of this subset and the last one */
    float whole;                     /* see footprint_whole() */
    int odd;                         /* this subset is the second, fourth, ... of the iteration */
};

int cpu_vcd_iteration_fits(const struct backend *be, const struct projector *p,
                           const struct vcd_iteration *s)
{
    (void)be;
    const struct pixel_set subset = {NULL, volume_pixels(&p->volume), 0};
    return p->scan.beam == BEAM_PARALLEL && p->taps == 2 && p->scan.channels > 1 &&
           2 * (int64_t)footprint_table_floats(p, s->length) <= scratch_floats(p, &subset, 1);
}

static int iteration_stopped(const struct iteration *it)
{
    return backend_stopped(it->be) || (it->s->stop && *it->s->stop);
}

static int64_t strip_slice_count(const struct iteration *it, int64_t strip)
{
    return int_min(STRIP, it->p->volume.slices - strip * STRIP);
}

/* (channel, row) <-> (strip, channel, row of the strip) in every view. */
static void sinogram_reorder(const struct iteration *it, const struct buffer *sinogram,
                             int to_strips)
{
    const int64_t rows = it->p->scan.rows, channels = it->p->scan.channels;
    const size_t bytes = (size_t)it->plane * sizeof(float);
#pragma omp parallel num_threads(it->team.threads)
    {
        float *copy = it->team.scratch + (size_t)omp_get_thread_num() * it->team.each;
#pragma omp for schedule(static)
        for (int64_t view = 0; view < it->p->scan.views; view++) {
            float *plane = (float *)sinogram->ptr + view * it->plane;
            if (iteration_stopped(it))
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

/* n <= STRIP floats to or from STRIP with zeros behind. */
static void strip_widen(const float *from, int64_t n, float scale, float *to)
{
    for (int64_t k = 0; k < n; k++)
        to[k] = scale * from[k];
    for (int64_t k = n; k < STRIP; k++)
        to[k] = 0;
}

static void load_cylinders(const struct iteration *it, const float *from, int64_t strip,
                           float scale, float *to)
{
    const int64_t slices = it->p->volume.slices, n = strip_slice_count(it, strip);
    for (int64_t q = 0; q < it->s->length; q++)
        strip_widen(from + q * slices + strip * STRIP, n, scale, to + q * STRIP);
    memset(to + it->s->length * STRIP, 0, BLANKS * STRIP * sizeof *to);
}

static void store_cylinders(const struct iteration *it, const float *from, int64_t strip,
                            int64_t first, int64_t end, float *to)
{
    const int64_t slices = it->p->volume.slices;
    for (int64_t q = 0; q < it->s->length; q++)
        for (int64_t k = first; k < end; k++)
            to[q * slices + strip * STRIP + k] = it->whole * from[q * STRIP + k];
}

/* A strip of one view, padded where the strip is narrow. */
static float *strip_at(const struct iteration *it, const struct buffer *b, int64_t view,
                       int64_t strip, float *padded)
{
    const int64_t n = strip_slice_count(it, strip), channels = it->p->scan.channels;
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

static int64_t cylinder_floats(const struct iteration *it)
{
    return (it->s->length + BLANKS) * STRIP;
}

static size_t memory_floats(const struct iteration *it)
{
    return (size_t)(2 * cylinder_floats(it) + 2 * it->columns);
}

static struct strip_memory memory_of(const struct iteration *it)
{
    float *at = it->team.scratch + (size_t)omp_get_thread_num() * it->team.each;
    float *sum = at + cylinder_floats(it), *e = sum + cylinder_floats(it);
    return (struct strip_memory){at, sum, e, e + it->columns};
}

/* Slices [first, end) of a strip in all views. */
struct strip_slices {
    int64_t strip, first, end;
};

static void iteration_update_view(const struct iteration *it, struct strip_slices at, int64_t view,
                                  int64_t next, const struct footprint_table *last,
                                  const struct footprint_table *now, const struct strip_memory *m)
{
    const struct vcd_iteration *s = it->s;
    const int64_t n = strip_slice_count(it, at.strip), channels = it->p->scan.channels;
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
static void update_slices(const struct iteration *it, struct strip_slices at,
                          const struct footprint_table *last, const struct footprint_table *now,
                          const struct strip_memory *m)
{
    const int64_t views = it->p->scan.views;
    for (int64_t i = 0; i < views && !iteration_stopped(it); i++) {
        const int64_t view = it->odd ? views - 1 - i : i;
        const int64_t next = i + 1 == views ? view : it->odd ? view - 1 : view + 1;
        iteration_update_view(it, at, view, next, last, now, m);
    }
}

/* A pass over e: `delta` of the last move (NULL: none), `out` for this subset's back projection
 * (NULL: none). A task is a strip, or a half or quarter of it where threads are many. */
static void iteration_update_back(const struct iteration *it, const float *delta, double alpha,
                                  float *out)
{
    const struct footprint_table *last = &it->table[delta ? !it->odd : it->odd];
    const struct footprint_table *now = &it->table[out ? it->odd : !it->odd];
    int64_t width = STRIP;
    while (width > 16 && it->strips * (STRIP / width) < it->team.threads)
        width /= 2;
#pragma omp parallel for collapse(2) num_threads(it->team.threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < it->strips; i++)
        for (int64_t first = 0; first < STRIP; first += width) {
            const int64_t strip = it->odd ? it->strips - 1 - i : i;
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
static double iteration_norm(const struct iteration *it, const float *delta)
{
    const struct footprint_table *t = &it->table[it->odd];
    const int64_t views = it->p->scan.views, tasks = it->strips * NORM_PARTS;
#pragma omp parallel for num_threads(it->team.threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < tasks; task++) {
        struct strip_memory m = memory_of(it);
        const int64_t strip = task / NORM_PARTS, part = task % NORM_PARTS;
        const int width = (int)round_up(strip_slice_count(it, strip), 16);
        double sum = 0;
        load_cylinders(it, delta, strip, it->whole, m.moved);
        for (int64_t view = views * part / NORM_PARTS;
             view < views * (part + 1) / NORM_PARTS && !iteration_stopped(it); view++) {
            const struct sparse_view v = footprint_table_at(t, view);
            const float *w = it->s->weights ? strip_at(it, it->s->weights, view, strip, m.w) : NULL;
            sum += it->kernels->norm(&v, width, m.moved, w);
        }
        it->norms[task] = sum;
    }
    double sum = 0;
    for (int64_t task = 0; task < tasks; task++)
        sum += it->norms[task];
    return sum;
}

/* The step that minimises the surrogate cost along delta, as in host/recon/mbir.c. */
static double iteration_step_length(const struct regularisation *r, double linear, double quadratic,
                                    const struct vcd_sums *prior)
{
    const double eps = (double)FLT_EPSILON, inverse = 1 / (r->sigma_y * r->sigma_y);
    const double alpha =
        (inverse * linear - prior->linear) / (inverse * quadratic + prior->quadratic + eps);
    return fmin(fmax(alpha, eps), r->max_overrelaxation);
}

static struct buffer iteration_packed(const struct iteration *it, const struct buffer *whole)
{
    struct buffer part = *whole;
    part.owned = 0;
    part.bytes = (size_t)(it->s->length * it->p->volume.slices) * sizeof(float);
    return part;
}

/* `last` is the move that is still in e; on return this subset's. In the middle of a pass that was
 * stopped x keeps its whole steps; e is of no use any more. */
static enum err take_subset(struct iteration *it, const int32_t *indices, struct vcd_move *last,
                            struct vcd_totals *totals)
{
    const struct vcd_iteration *s = it->s;
    struct backend *be = it->be;
    const struct regularisation *r = s->prior->regularisation;
    const struct pixel_set pixels = {indices, s->length, 1};
    struct buffer g = iteration_packed(it, s->gP), h = iteration_packed(it, s->hP);
    struct buffer *delta = s->dP[it->odd];
    struct buffer d = iteration_packed(it, delta);
    struct vcd_sums prior;
    double linear, moved;

    mark_push("prior", 0);
    enum err e = cpu_prior_terms(be, s->volume, s->prior, &pixels, s->x, &g, &h);
    mark_pop();
    TRY(e);
    mark_push("sinogram update and back projection", 0);
    footprint_table_fill(it->p, indices, &it->team, &it->table[it->odd]);
    iteration_update_back(it, last->delta ? last->delta->ptr : NULL, last->alpha, d.ptr);
    mark_pop();
    if (iteration_stopped(it))
        return ERR_OK;
    mark_push("direction", 0);
    e = cpu_vcd_direction_dot(be, s->volume, &pixels, r->sigma_y, s->damping, s->hessian, &g, &h,
                              &d, &prior, &linear);
    mark_pop();
    TRY(e);
    mark_push("forward projection and sums", 0);
    const double quadratic = iteration_norm(it, d.ptr);
    mark_pop();
    if (iteration_stopped(it))
        return ERR_OK;
    const double alpha = iteration_step_length(r, linear, quadratic, &prior);
    if (r->positivity)
        TRY(cpu_clip_positive(be, s->volume, &pixels, s->x, alpha, &d));
    mark_push("recon update", 0);
    e = cpu_add_cylinders(be, s->volume, &pixels, alpha, &d, s->x, &moved);
    mark_pop();
    TRY(e);
    *last = (struct vcd_move){pixels, delta, alpha};
    it->odd = !it->odd;
    totals->moved += moved;
    totals->alpha += alpha;
    return ERR_OK;
}

static void iteration_declare_work(const struct iteration *it, int64_t subsets)
{
    const struct vcd_iteration *s = it->s;
    const double samples = (double)scan_samples(&it->p->scan);
    const double voxels = (double)s->length * (double)it->p->volume.slices;
    const double updates = voxels * (double)it->p->scan.views;
    const double sinograms = s->weights ? 4 : 2; /* e there and back, w twice */
    backend_declare(it->be, (double)subsets * (12 * updates + 3 * samples),
                    (double)subsets * 4 * (3 * voxels + sinograms * samples),
                    (double)subsets * 4 * (6 * updates + sinograms * samples));
}

/* Returns the floats that hold `count` things of `bytes`, in whole cache lines. */
static size_t floats_for(int64_t count, size_t bytes)
{
    return ((size_t)count * bytes + 63) / 64 * (64 / sizeof(float));
}

static enum err iteration_memory(struct iteration *it, void **memory)
{
    const int64_t length = it->s->length;
    const size_t sums = floats_for(it->strips * NORM_PARTS, sizeof *it->norms);
    const size_t batches = floats_for((length + BATCH - 1) / BATCH, sizeof *it->team.batches);
    const size_t table = floats_for((int64_t)footprint_table_floats(it->p, length), sizeof(float));
    it->team.each = memory_floats(it);
    if (it->team.each < (size_t)it->plane)
        it->team.each = (size_t)round_up(it->plane, 16);
    TRY(mem_alloc("footprints of two subsets",
                  (sums + batches + 2 * table + (size_t)it->team.threads * it->team.each) *
                      sizeof(float),
                  memory));
    float *at = *memory;
    it->norms = *memory;
    at += sums;
    it->team.batches = (struct pixel_batch *)(void *)at;
    at += batches;
    for (int i = 0; i < 2; i++, at += table) {
        it->table[i] = footprint_table_of(it->p, length);
        it->table[i].entries = (struct sparse_entry *)(void *)at;
    }
    it->team.scratch = at;
    return ERR_OK;
}

enum err cpu_vcd_iteration(struct backend *be, struct projector *p, const struct vcd_iteration *s,
                           struct vcd_totals *totals)
{
    struct iteration it = {.be = be,
                           .p = p,
                           .kernels = ISA_PICK(sparse_kernels),
                           .s = s,
                           .strips = (p->volume.slices + STRIP - 1) / STRIP,
                           .plane = p->scan.rows * p->scan.channels,
                           .columns = p->scan.channels * STRIP,
                           .whole = (float)footprint_whole(p),
                           .team = {.be = be, .threads = cpu_team(be, scan_samples(&p->scan))}};
    struct vcd_move last = {0};
    enum err e = ERR_OK;
    void *memory;
    TRY(iteration_memory(&it, &memory));
    sinogram_reorder(&it, s->error, 1);
    if (s->weights)
        sinogram_reorder(&it, s->weights, 1);
    int64_t taken = 0;
    for (; !e && taken < s->subsets && !iteration_stopped(&it); taken++)
        e = take_subset(&it, s->indices + s->order[taken] * s->length, &last, totals);
    if (last.delta && !iteration_stopped(&it))
        iteration_update_back(&it, last.delta->ptr, last.alpha, NULL);
    sinogram_reorder(&it, s->error, 0);
    if (s->weights)
        sinogram_reorder(&it, s->weights, 0);
    mem_free(memory);
    iteration_declare_work(&it, taken);
    return e;
}
