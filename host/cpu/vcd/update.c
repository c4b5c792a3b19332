/* Vectorised coordinate descent: what happens between a back and a forward projection of one pixel
 * subset. All loops stream through memory once or twice; sums are taken over fixed groups of
 * pixels, in order, so that no result depends on the number of threads. */
#include <float.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/backend/checks.h"
#include "host/cpu/common/elementwise.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/vcd/vcd.h"

#define GROUPS                                                                                     \
    256 /* at most: bounds the table of partial sums, enough work items for any machine */

/* Returns the pixels of a group; a function of the list's length alone. */
static int64_t group_size(int64_t count)
{
    int64_t size = (count + GROUPS - 1) / GROUPS;
    return size < 16 ? 16 : size;
}

/* Inputs of one element of the direction. */
struct subset_direction {
    const struct pixel_set *pixels;
    int64_t slices;
    float inverse; /* 1 / sigma_y^2 */
    const float *hessian, *g, *h;
    float *d;
    const float *pull; /* [slices] (1 - s_k) gbar_k, or NULL */
};

static const float *hessian_at(const struct subset_direction *t, int64_t q)
{
    int64_t pixel = t->pixels->indices ? t->pixels->indices[q] : q;
    return t->hessian + pixel * t->slices;
}

/* Adds sum(g/h) and sum(1/h) per slice over the pixels [first, last) to mean[0..slices) and
 * mean[slices..). */
static void add_means(const struct subset_direction *t, int64_t first, int64_t last, double *mean)
{
    for (int64_t q = first; q < last; q++) {
        const float *H = hessian_at(t, q), *g = t->g + q * t->slices, *h = t->h + q * t->slices;
        const float *back = t->d + q * t->slices;
        for (int64_t k = 0; k < t->slices; k++) {
            float inverse = 1 / (h[k] + t->inverse * H[k]);
            mean[k] += (double)((g[k] - t->inverse * back[k]) * inverse);
            mean[t->slices + k] += (double)inverse;
        }
    }
}

/* pull[k] = (1 - damping[k]) * gbar_k. */
static enum err find_pull(struct backend *be, const struct subset_direction *t,
                          const float *damping, float *pull)
{
    const int64_t count = t->pixels->count, size = group_size(count);
    const int64_t groups = (count + size - 1) / size, row = 2 * t->slices;
    void *table;
    TRY(mem_alloc_zero("slice means", (size_t)(groups * row) * sizeof(double), &table));
    double *mean = table;
#pragma omp parallel for num_threads(cpu_team(be, count * t->slices)) schedule(static)
    for (int64_t i = 0; i < groups; i++)
        if (!backend_stopped(be))
            add_means(t, i * size, (i + 1) * size < count ? (i + 1) * size : count, mean + i * row);
    for (int64_t k = 0; k < t->slices; k++) {
        double weighted = 0, weight = 0;
        for (int64_t i = 0; i < groups; i++) {
            weighted += mean[i * row + k];
            weight += mean[i * row + t->slices + k];
        }
        pull[k] = count ? (float)((1 - (double)damping[k]) * weighted / weight) : 0;
    }
    mem_free(table);
    return ERR_OK;
}

static void direction_cylinder(const struct subset_direction *t, int64_t q, double sums[3])
{
    const int64_t at = q * t->slices;
    const struct direction_terms terms = {hessian_at(t, q), t->g + at, t->h + at, t->pull,
                                          t->inverse};
    ISA_PICK(vcd_kernels)->direction(&terms, t->slices, t->d + at, sums);
}

enum err cpu_vcd_direction_dot(struct backend *be, const struct volume *v,
                               const struct pixel_set *pixels, double sigma_y, const float *damping,
                               const struct buffer *hessian, const struct buffer *g,
                               const struct buffer *h, struct buffer *d, struct vcd_sums *sums,
                               double *data)
{
    const int64_t count = pixels->count, size = group_size(count);
    struct subset_direction t = {pixels,       v->slices, (float)(1 / (sigma_y * sigma_y)),
                                 hessian->ptr, g->ptr,    h->ptr,
                                 d->ptr,       NULL};
    double part[GROUPS][3] = {{0}};
    *sums = (struct vcd_sums){0};
    *data = 0;
    void *pull = NULL;
    if (damping) {
        TRY(mem_alloc("slice means", (size_t)v->slices * sizeof(float), &pull));
        enum err e = find_pull(be, &t, damping, pull);
        if (e) {
            mem_free(pull);
            return e;
        }
        t.pull = pull;
    }
    const int64_t groups = (count + size - 1) / size;
#pragma omp parallel for num_threads(cpu_team(be, count *t.slices)) schedule(static)
    for (int64_t i = 0; i < groups; i++)
        for (int64_t q = i * size;
             q < (i + 1) * size && q < count && !backend_stopped_at(be, q - i * size); q++)
            direction_cylinder(&t, q, part[i]);
    for (int i = 0; i < GROUPS; i++) {
        sums->linear += part[i][0];
        sums->quadratic += part[i][1];
        *data += part[i][2];
    }
    mem_free(pull);
    double n = (double)count * (double)v->slices;
    backend_declare(be, (damping ? 18 : 11) * n, 20 * n, (damping ? 40 : 32) * n);
    return ERR_OK;
}

enum err cpu_vcd_direction(struct backend *be, const struct volume *v,
                           const struct pixel_set *pixels, double sigma_y, const float *damping,
                           const struct buffer *hessian, const struct buffer *g,
                           const struct buffer *h, struct buffer *d, struct vcd_sums *sums)
{
    double data;
    return cpu_vcd_direction_dot(be, v, pixels, sigma_y, damping, hessian, g, h, d, sums, &data);
}

static void chunk_dots(struct operands in, int64_t n, double out[SUMS])
{
    double linear[CHUNK_LANES] = {0}, quadratic[CHUNK_LANES] = {0};
    int64_t i = 0;
    for (; i + CHUNK_LANES <= n; i += CHUNK_LANES)
        for (int l = 0; l < CHUNK_LANES; l++) {
            double d = (double)in.c[i + l], wd = (double)in.a[i + l] * d;
            linear[l] += wd * (double)in.b[i + l];
            quadratic[l] += wd * d;
        }
    for (; i < n; i++) {
        double d = (double)in.c[i], wd = (double)in.a[i] * d;
        linear[0] += wd * (double)in.b[i];
        quadratic[0] += wd * d;
    }
    for (int l = 0; l < CHUNK_LANES; l++) {
        out[0] += linear[l];
        out[1] += quadratic[l];
    }
}

static void chunk_dots_ones(struct operands in, int64_t n, double out[SUMS])
{
    double linear[CHUNK_LANES] = {0}, quadratic[CHUNK_LANES] = {0};
    int64_t i = 0;
    for (; i + CHUNK_LANES <= n; i += CHUNK_LANES)
        for (int l = 0; l < CHUNK_LANES; l++) {
            double d = (double)in.c[i + l];
            linear[l] += d * (double)in.b[i + l];
            quadratic[l] += d * d;
        }
    for (; i < n; i++) {
        double d = (double)in.c[i];
        linear[0] += d * (double)in.b[i];
        quadratic[0] += d * d;
    }
    for (int l = 0; l < CHUNK_LANES; l++) {
        out[0] += linear[l];
        out[1] += quadratic[l];
    }
}

enum err cpu_weighted_dots(struct backend *be, const struct buffer *w, const struct buffer *e,
                           const struct buffer *d, struct vcd_sums *sums)
{
    double out[SUMS];
    const struct operands in = {w ? w->ptr : NULL, e->ptr, d->ptr};
    const int64_t n = (int64_t)(d->bytes / sizeof(float));
    TRY(sum_chunks(be, w ? chunk_dots : chunk_dots_ones, in, n, out));
    *sums = (struct vcd_sums){out[0], out[1]};
    double bytes = (double)d->bytes * (1 + (w != NULL) + (e->ptr != d->ptr));
    backend_declare(be, (w ? 5 : 4) * (double)n, bytes, bytes);
    return ERR_OK;
}

enum err cpu_clip_positive(struct backend *be, const struct volume *v,
                           const struct pixel_set *pixels, const struct buffer *x, double alpha,
                           struct buffer *d)
{
    const int64_t slices = v->slices;
    const float factor = (float)(-1 / (alpha + (double)FLT_EPSILON));
    const float *from = x->ptr;
    float *to = d->ptr;
#pragma omp parallel for num_threads(cpu_team(be, pixels->count *slices)) schedule(static)
    for (int64_t q = 0; q < pixels->count; q++) {
        const float *a = from + (pixels->indices ? pixels->indices[q] : q) * slices;
        float *b = to + q * slices;
        for (int64_t k = 0; k < slices; k++) {
            float least = factor * a[k];
            b[k] = b[k] < least ? least : b[k];
        }
    }
    double n = (double)pixels->count * (double)slices;
    backend_declare(be, 2 * n, 12 * n, 12 * n);
    return ERR_OK;
}

enum err cpu_add_cylinders(struct backend *be, const struct volume *v,
                           const struct pixel_set *pixels, double alpha, const struct buffer *d,
                           struct buffer *x, double *moved)
{
    const int64_t slices = v->slices, count = pixels->count, size = group_size(count);
    const struct vcd_kernels *kernels = ISA_PICK(vcd_kernels);
    const float *from = d->ptr;
    float *to = x->ptr;
    double part[GROUPS] = {0};
    /* A list that is not ascending may name a pixel twice, in two groups: then one thread. */
    const int threads = pixels_ascend(pixels) ? cpu_team(be, count * slices) : 1;
    const int64_t groups = (count + size - 1) / size;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < groups; i++)
        for (int64_t q = i * size; q < (i + 1) * size && q < count; q++) {
            int64_t pixel = pixels->indices ? pixels->indices[q] : q;
            part[i] += kernels->add((float)alpha, from + q * slices, slices, to + pixel * slices);
        }
    *moved = 0;
    for (int i = 0; i < GROUPS; i++)
        *moved += part[i];
    double n = (double)count * (double)slices;
    backend_declare(be, 3 * n, 12 * n, 12 * n);
    return ERR_OK;
}
