/* z-norm, rescaling and conversion of a box: one pass for the statistics, one that writes. */
#include <math.h>
#include <stdlib.h>

#include "host/backend/course.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/volume/volume_kernel.h"

#define SPAN ((int64_t)1 << 16) /* floats: 256 KiB */

/* A box as spans of memory: rows of the volume, or pieces of SPAN where it is all of its slabs. */
struct map_spans {
    const struct volume_step *step;
    const float *in;
    int64_t count, length, voxels;
    int whole; /* one piece of memory */
};

static struct map_spans map_spans_of(const struct volume_job *j)
{
    const struct volume_step *s = j->step;
    struct map_spans v = {s, j->in, s->out[0] * s->out[1], s->out[2], volume_step_voxels(s->out),
                          0};
    if (s->out[1] != s->in[1] || s->out[2] != s->in[2])
        return v;
    v.whole = 1;
    v.in += s->start[0] * s->in[1] * s->in[2];
    v.length = SPAN;
    v.count = (v.voxels + SPAN - 1) / SPAN;
    return v;
}

static const float *map_span(const struct map_spans *v, int64_t i, int64_t *n)
{
    const struct volume_step *s = v->step;
    const int64_t left = v->voxels - i * v->length;
    *n = left < v->length ? left : v->length;
    if (v->whole)
        return v->in + i * v->length;
    const int64_t row = i / s->out[1] + s->start[0], col = i % s->out[1] + s->start[1];
    return v->in + (row * s->in[1] + col) * s->in[2] + s->start[2];
}

/* Partial sums by span, added up in order: the same bits at any number of threads. */
static enum err z_norm(const struct volume_job *j, const struct map_spans *v,
                       struct volume_map *map)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    struct volume_moments all = {0, 0, 0};
    struct volume_sums *part = calloc((size_t)v->count, sizeof *part);
    double *shift = calloc((size_t)v->count, sizeof *shift);
    enum err e = part && shift ? ERR_OK
                               : FAIL(ERR_MEMORY, "no memory left for %lld partial sums",
                                      (long long)v->count);
#pragma omp parallel for num_threads(j->threads) schedule(static) if (!e)
    for (int64_t i = 0; i < (e ? 0 : v->count); i++) {
        int64_t n;
        const float *x = map_span(v, i, &n);
        if (backend_stopped_at(j->be, v->whole ? 0 : i))
            continue;
        shift[i] = isfinite(x[0]) ? (double)x[0] : 0;
        part[i] = k->sums(x, n, shift[i]);
    }
    for (int64_t i = 0; i < (e ? 0 : v->count); i++)
        volume_moments_add(&all, shift[i], part[i].count, part[i].sum, part[i].squares);
    free(part);
    free(shift);
    *map = volume_map_z_norm(&all);
    return e;
}

static struct volume_map map_rescale(const struct volume_job *j, const struct map_spans *v)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    float low = INFINITY, high = -INFINITY;
#pragma omp parallel for num_threads(j->threads) schedule(static) reduction(min                    \
                                                                            : low)                 \
    reduction(max                                                                                  \
              : high)
    for (int64_t i = 0; i < v->count; i++) {
        int64_t n;
        const float *x = map_span(v, i, &n);
        if (backend_stopped_at(j->be, v->whole ? 0 : i))
            continue;
        k->range(x, n, &low, &high);
    }
    return volume_map_rescale(j->step, low, high);
}

enum err volume_map(const struct volume_job *j)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const struct map_spans v = map_spans_of(j);
    const int bytes = volume_dtype_bytes(s->dtype);
    struct volume_map map = {0, 1, 0, -INFINITY, INFINITY};
    if (s->norm == VOLUME_Z_NORM)
        TRY(z_norm(j, &v, &map));
    else if (s->norm == VOLUME_RESCALE)
        map = map_rescale(j, &v);
#pragma omp parallel for num_threads(j->threads) schedule(static, 1)
    for (int t = 0; t < j->threads; t++) {
        const int64_t first = v.count * t / j->threads, last = v.count * (t + 1) / j->threads - 1;
        for (int64_t i = first; i <= last; i++) {
            int64_t n;
            /* Backwards: what the first pass read last is in the caches yet. */
            const int64_t at = s->norm ? last - (i - first) : i;
            const float *x = map_span(&v, at, &n);
            if (backend_stopped_at(j->be, v.whole ? 0 : i))
                break;
            k->map(x, n, &map, s->dtype, (char *)j->out + at * v.length * bytes, j->stream);
        }
        k->fence();
    }
    return ERR_OK;
}
