/* A pass of VCD over all subsets of a partition, parallel beams. Slices are independent but for the
 * prior and the length of the step, so a task owns a strip of STRIP slices, in all views: it takes
 * the last move out of the strip's error sinogram and back projects it for this subset while a
 * view's columns are in registers. For that e and w lie strip by strip within each view while the
 * pass lasts. A subset then reads e once and writes it once, and reads w twice: <w e, A delta> =
 * <A' w e, delta> comes from the back projection, <w A delta, A delta> from a projection into L1.
 */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "host/base/memory.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/team.h"
#include "host/cpu/vcd/footprint_table.h"
#include "host/cpu/vcd/vcd.h"
#include "profiler/mark/mark.h"

#define NORM_PARTS 4 /* of a strip's views */

struct pass {
    struct backend *be;
    const struct projector *p;
    const struct sparse_kernels *kernels;
    const struct vcd_sweep *s;
    int64_t strips, plane, columns; /* columns: floats of a strip of a view */
    struct feet_team team;
    double *norms;              /* [strips][NORM_PARTS] */
    struct feet_table table[2]; /* of this subset and the last one */
    float whole;                /* see feet_whole() */
    int turn;
};

int cpu_vcd_sweep_fits(const struct backend *be, const struct projector *p,
                       const struct vcd_sweep *s)
{
    (void)be;
    const struct pixel_set subset = {NULL, volume_pixels(&p->volume), 0};
    return p->scan.beam == BEAM_PARALLEL && p->taps == 2 && p->scan.channels > 1 &&
           2 * (int64_t)feet_table_floats(p, s->length) <= scratch_floats(p, &subset, 1);
}

static int64_t slices_of(const struct pass *pass, int64_t strip)
{
    return least(STRIP, pass->p->volume.slices - strip * STRIP);
}

/* (channel, row) <-> (strip, channel, row of the strip) in every view. */
static void reorder(const struct pass *pass, const struct buffer *sinogram, int to_strips)
{
    const int64_t rows = pass->p->scan.rows, channels = pass->p->scan.channels;
    const size_t bytes = (size_t)pass->plane * sizeof(float);
#pragma omp parallel num_threads(pass->team.threads)
    {
        float *copy = pass->team.scratch + (size_t)omp_get_thread_num() * pass->team.each;
#pragma omp for schedule(static)
        for (int64_t view = 0; view < pass->p->scan.views; view++) {
            float *plane = (float *)sinogram->ptr + view * pass->plane;
            memcpy(copy, plane, bytes);
            for (int64_t strip = 0; strip < pass->strips; strip++) {
                const int64_t n = slices_of(pass, strip), first = strip * STRIP;
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
static void widen(const float *from, int64_t n, float scale, float *to)
{
    for (int64_t k = 0; k < n; k++)
        to[k] = scale * from[k];
    for (int64_t k = n; k < STRIP; k++)
        to[k] = 0;
}

static void load_cylinders(const struct pass *pass, const float *from, int64_t strip, float scale,
                           float *to)
{
    const int64_t slices = pass->p->volume.slices, n = slices_of(pass, strip);
    for (int64_t q = 0; q < pass->s->length; q++)
        widen(from + q * slices + strip * STRIP, n, scale, to + q * STRIP);
    memset(to + pass->s->length * STRIP, 0, BLANKS * STRIP * sizeof *to);
}

static void store_cylinders(const struct pass *pass, const float *from, int64_t strip,
                            int64_t first, int64_t end, float *to)
{
    const int64_t slices = pass->p->volume.slices;
    for (int64_t q = 0; q < pass->s->length; q++)
        for (int64_t k = first; k < end; k++)
            to[q * slices + strip * STRIP + k] = pass->whole * from[q * STRIP + k];
}

/* A strip of one view, padded where the strip is narrow. */
static float *strip_at(const struct pass *pass, const struct buffer *b, int64_t view, int64_t strip,
                       float *padded)
{
    const int64_t n = slices_of(pass, strip), channels = pass->p->scan.channels;
    float *at = (float *)b->ptr + view * pass->plane + strip * STRIP * channels;
    if (n == STRIP)
        return at;
    for (int64_t c = 0; c < channels; c++)
        widen(at + c * n, n, 1, padded + c * STRIP);
    return padded;
}

/* Scratch of a task. */
struct strip_memory {
    float *moved, *sum; /* [length + BLANKS][STRIP] */
    float *e, *w;       /* [channels][STRIP] */
};

static int64_t cylinder_floats(const struct pass *pass)
{
    return (pass->s->length + BLANKS) * STRIP;
}

static size_t memory_floats(const struct pass *pass)
{
    return (size_t)(2 * cylinder_floats(pass) + 2 * pass->columns);
}

static struct strip_memory memory_of(const struct pass *pass)
{
    float *at = pass->team.scratch + (size_t)omp_get_thread_num() * pass->team.each;
    float *sum = at + cylinder_floats(pass), *e = sum + cylinder_floats(pass);
    return (struct strip_memory){at, sum, e, e + pass->columns};
}

/* Slices [first, end) of a strip in all views. */
struct slab {
    int64_t strip, first, end;
};

static void sweep_view(const struct pass *pass, struct slab at, int64_t view, int64_t next,
                       const struct feet_table *last, const struct feet_table *now,
                       const struct strip_memory *m)
{
    const struct vcd_sweep *s = pass->s;
    const int64_t n = slices_of(pass, at.strip), channels = pass->p->scan.channels;
    float *e = strip_at(pass, s->error, view, at.strip, m->e);
    float *w = s->weights ? strip_at(pass, s->weights, view, at.strip, m->w) : NULL;
    const int64_t ahead = e == m->e ? 0 : (next - view) * pass->plane;
    const struct sparse_sweep sweep = {
        .taken = feet_at(last, view),
        .given = feet_at(now, view),
        .x = m->moved + at.first,
        .e = e + at.first,
        .w = w ? w + at.first : NULL,
        .sum = m->sum + at.first,
        .ahead = ahead,
    };
    pass->kernels->sweep(&sweep, (int)round_up(at.end - at.first, 16));
    float *to =
        (float *)s->error->ptr + view * pass->plane + at.strip * STRIP * channels + at.first;
    for (int64_t c = 0; e == m->e && c < channels; c++)
        memcpy(to + c * n, e + c * STRIP + at.first, (size_t)(at.end - at.first) * sizeof *to);
}

/* e += A moved, sum = A' w e. Views from the last to the first at every second turn: what was
 * touched last is still in the caches. */
static void sweep_slab(const struct pass *pass, struct slab at, const struct feet_table *last,
                       const struct feet_table *now, const struct strip_memory *m)
{
    const int64_t views = pass->p->scan.views;
    for (int64_t i = 0; i < views; i++) {
        const int64_t view = pass->turn ? views - 1 - i : i;
        const int64_t next = i + 1 == views ? view : pass->turn ? view - 1 : view + 1;
        sweep_view(pass, at, view, next, last, now, m);
    }
}

/* A pass over e: `delta` of the last move (NULL: none), `out` for this subset's back projection
 * (NULL: none). A task is a strip, or a half or quarter of it where threads are many. */
static void update_back(const struct pass *pass, const float *delta, double alpha, float *out)
{
    const struct feet_table *last = &pass->table[delta ? !pass->turn : pass->turn];
    const struct feet_table *now = &pass->table[out ? pass->turn : !pass->turn];
    int64_t width = STRIP;
    while (width > 16 && pass->strips * (STRIP / width) < pass->team.threads)
        width /= 2;
#pragma omp parallel for collapse(2) num_threads(pass->team.threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < pass->strips; i++)
        for (int64_t first = 0; first < STRIP; first += width) {
            const int64_t strip = pass->turn ? pass->strips - 1 - i : i;
            const int64_t end = least(first + width, slices_of(pass, strip));
            const struct strip_memory m = memory_of(pass);
            const size_t bytes = (size_t)cylinder_floats(pass) * sizeof(float);
            if (first >= end)
                continue;
            if (delta)
                load_cylinders(pass, delta, strip, (float)-alpha * pass->whole, m.moved);
            else
                memset(m.moved, 0, bytes);
            memset(m.sum, 0, bytes);
            sweep_slab(pass, (struct slab){strip, first, end}, last, now, &m);
            if (out)
                store_cylinders(pass, m.sum, strip, first, end, out);
        }
}

/* <w A delta, A delta>. Tasks are parts of a strip's views, the same ones for any number of
 * threads. */
static double norm(const struct pass *pass, const float *delta)
{
    const struct feet_table *t = &pass->table[pass->turn];
    const int64_t views = pass->p->scan.views, tasks = pass->strips * NORM_PARTS;
#pragma omp parallel for num_threads(pass->team.threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < tasks; task++) {
        struct strip_memory m = memory_of(pass);
        const int64_t strip = task / NORM_PARTS, part = task % NORM_PARTS;
        const int width = (int)round_up(slices_of(pass, strip), 16);
        double sum = 0;
        load_cylinders(pass, delta, strip, pass->whole, m.moved);
        for (int64_t view = views * part / NORM_PARTS; view < views * (part + 1) / NORM_PARTS;
             view++) {
            const struct sparse_view v = feet_at(t, view);
            const float *w =
                pass->s->weights ? strip_at(pass, pass->s->weights, view, strip, m.w) : NULL;
            sum += pass->kernels->norm(&v, width, m.moved, w);
        }
        pass->norms[task] = sum;
    }
    double sum = 0;
    for (int64_t task = 0; task < tasks; task++)
        sum += pass->norms[task];
    return sum;
}

/* The step that minimises the surrogate cost along delta, as in host/recon/mbir.c. */
static double step_length(const struct regularisation *r, double linear, double quadratic,
                          const struct vcd_sums *prior)
{
    const double eps = (double)FLT_EPSILON, inverse = 1 / (r->sigma_y * r->sigma_y);
    const double alpha =
        (inverse * linear - prior->linear) / (inverse * quadratic + prior->quadratic + eps);
    return fmin(fmax(alpha, eps), r->max_overrelaxation);
}

static struct buffer packed(const struct pass *pass, const struct buffer *whole)
{
    struct buffer part = *whole;
    part.owned = 0;
    part.bytes = (size_t)(pass->s->length * pass->p->volume.slices) * sizeof(float);
    return part;
}

/* `last` is the move that is still in e; on return this subset's. */
static enum err take_subset(struct pass *pass, const int32_t *indices, struct vcd_move *last,
                            struct vcd_totals *totals)
{
    const struct vcd_sweep *s = pass->s;
    struct backend *be = pass->be;
    const struct regularisation *r = s->prior->regularisation;
    const struct pixel_set pixels = {indices, s->length, 1};
    struct buffer g = packed(pass, s->gP), h = packed(pass, s->hP);
    struct buffer *delta = s->dP[pass->turn];
    struct buffer d = packed(pass, delta);
    struct vcd_sums prior;
    double linear, moved;

    mark_push("prior", 0);
    enum err e = cpu_prior_terms(be, s->volume, s->prior, &pixels, s->x, &g, &h);
    mark_pop();
    TRY(e);
    mark_push("sinogram update and back projection", 0);
    feet_find(pass->p, indices, &pass->team, &pass->table[pass->turn]);
    update_back(pass, last->delta ? last->delta->ptr : NULL, last->alpha, d.ptr);
    mark_pop();
    mark_push("direction", 0);
    e = cpu_vcd_direction_dot(be, s->volume, &pixels, r->sigma_y, s->damping, s->hessian, &g, &h,
                              &d, &prior, &linear);
    mark_pop();
    TRY(e);
    mark_push("forward projection and sums", 0);
    const double quadratic = norm(pass, d.ptr);
    mark_pop();
    const double alpha = step_length(r, linear, quadratic, &prior);
    if (r->positivity)
        TRY(cpu_clip_positive(be, s->volume, &pixels, s->x, alpha, &d));
    mark_push("recon update", 0);
    e = cpu_add_cylinders(be, s->volume, &pixels, alpha, &d, s->x, &moved);
    mark_pop();
    TRY(e);
    *last = (struct vcd_move){pixels, delta, alpha};
    pass->turn = !pass->turn;
    totals->moved += moved;
    totals->alpha += alpha;
    return ERR_OK;
}

static void declare(const struct pass *pass, int64_t subsets)
{
    const struct vcd_sweep *s = pass->s;
    const double samples = (double)scan_samples(&pass->p->scan);
    const double voxels = (double)s->length * (double)pass->p->volume.slices;
    const double updates = voxels * (double)pass->p->scan.views;
    const double sinograms = s->weights ? 4 : 2; /* e there and back, w twice */
    backend_declare(pass->be, (double)subsets * (12 * updates + 3 * samples),
                    (double)subsets * 4 * (3 * voxels + sinograms * samples),
                    (double)subsets * 4 * (6 * updates + sinograms * samples));
}

/* Floats for `count` things of `bytes`, in whole cache lines. */
static size_t floats_for(int64_t count, size_t bytes)
{
    return ((size_t)count * bytes + 63) / 64 * (64 / sizeof(float));
}

static enum err pass_memory(struct pass *pass, void **memory)
{
    const int64_t length = pass->s->length;
    const size_t sums = floats_for(pass->strips * NORM_PARTS, sizeof *pass->norms);
    const size_t batches = floats_for((length + BATCH - 1) / BATCH, sizeof *pass->team.batches);
    const size_t table = floats_for((int64_t)feet_table_floats(pass->p, length), sizeof(float));
    pass->team.each = memory_floats(pass);
    if (pass->team.each < (size_t)pass->plane)
        pass->team.each = (size_t)round_up(pass->plane, 16);
    TRY(mem_alloc("footprints of two subsets",
                  (sums + batches + 2 * table + (size_t)pass->team.threads * pass->team.each) *
                      sizeof(float),
                  memory));
    float *at = *memory;
    pass->norms = *memory;
    at += sums;
    pass->team.batches = (struct pixel_batch *)(void *)at;
    at += batches;
    for (int i = 0; i < 2; i++, at += table) {
        pass->table[i] = feet_table_of(pass->p, length);
        pass->table[i].entries = (struct sparse_entry *)(void *)at;
    }
    pass->team.scratch = at;
    return ERR_OK;
}

enum err cpu_vcd_sweep(struct backend *be, struct projector *p, const struct vcd_sweep *s,
                       struct vcd_totals *totals)
{
    struct pass pass = {.be = be,
                        .p = p,
                        .kernels = ISA_PICK(sparse_kernels),
                        .s = s,
                        .strips = (p->volume.slices + STRIP - 1) / STRIP,
                        .plane = p->scan.rows * p->scan.channels,
                        .columns = p->scan.channels * STRIP,
                        .whole = (float)feet_whole(p),
                        .team.threads = cpu_team(be, scan_samples(&p->scan))};
    struct vcd_move last = {0};
    enum err e = ERR_OK;
    void *memory;
    TRY(pass_memory(&pass, &memory));
    reorder(&pass, s->error, 1);
    if (s->weights)
        reorder(&pass, s->weights, 1);
    int64_t taken = 0;
    for (; !e && taken < s->subsets && !(s->stop && *s->stop); taken++)
        e = take_subset(&pass, s->indices + s->order[taken] * s->length, &last, totals);
    if (last.delta)
        update_back(&pass, last.delta->ptr, last.alpha, NULL);
    reorder(&pass, s->error, 0);
    if (s->weights)
        reorder(&pass, s->weights, 0);
    mem_free(memory);
    declare(&pass, taken);
    return e;
}
