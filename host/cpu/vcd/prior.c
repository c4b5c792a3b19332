/* Priors of VCD: qGGMRF over the six face neighbours, or proximal. Every voxel is read as it was
 * before the subset's update, so pixels are independent of each other. */
#include <math.h>
#include <omp.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/vcd/vcd.h"

static void prior_neighbours(const struct volume *v, const float *x, int64_t pixel,
                             const float *out[4])
{
    const int64_t i = pixel / v->cols, j = pixel - i * v->cols;
    const float *own = x + pixel * v->slices;
    const int64_t row = v->cols * v->slices;
    out[0] = i + 1 < v->rows ? own + row : own;
    out[1] = i > 0 ? own - row : own;
    out[2] = j + 1 < v->cols ? own + v->slices : own;
    out[3] = j > 0 ? own - v->slices : own;
}

#define FETCHED 4 /* cache lines of a cylinder; the rest of a longer one is foretold */

/* Fetches what the next pixel but one reads: cylinders of a subset lie far apart. */
static void prior_fetch(const struct volume *v, const float *x, int64_t pixel)
{
    const float *around[4];
    const int64_t floats = v->slices < 16 * FETCHED ? v->slices : 16 * FETCHED;
    prior_neighbours(v, x, pixel, around);
    for (int64_t k = 0; k < floats; k += 16) {
        for (int i = 0; i < 4; i++)
            __builtin_prefetch(around[i] + k);
        __builtin_prefetch(x + pixel * v->slices + k);
    }
}

static int64_t pixel_at(const struct pixel_set *pixels, int64_t q)
{
    return pixels->indices ? pixels->indices[q] : q;
}

/* Returns 1 where the prior needs t^c alone and a series of five terms is enough for it (1.2e-7 at
 * c = 1.5). */
static int power_tables_fill(const struct qggmrf *q, struct power_tables *out)
{
    const double c = (double)q->tail.high + (double)q->tail.low, reach = 1.0 / 17;
    if (!q->quadratic || fabs(c) > 1.5)
        return 0;
    for (int i = 26; i < 26 + 32; i++)
        out->high[i % 32] = (float)exp2(c * (4 * i - 127));
    for (int i = 0; i < 16; i++)
        out->inverse[i] = (float)(1 / (1 + (i % 8 + 0.5) / 8));
    for (int i = 0; i < 8; i++) {
        const double power = pow((double)out->inverse[i], -c);
        for (int n = 0; n < 4; n++)
            out->low[n * 8 + i] = (float)(exp2(c * n) * power);
    }
    double term[6] = {1};
    for (int i = 1; i < 6; i++)
        term[i] = term[i - 1] * (c - i + 1) / i;
    /* r^5 by Chebyshev's polynomial of degree 5, which leaves a sixteenth of it */
    term[3] += term[5] * 20 / 16 * reach * reach;
    term[1] -= term[5] * 5 / 16 * pow(reach, 4);
    for (int i = 0; i < 4; i++)
        out->series[i] = (float)term[i + 1];
    return 1;
}

static enum err qggmrf_terms(struct backend *be, const struct volume *v,
                             const struct regularisation *r, const struct pixel_set *pixels,
                             const float *x, float *g, float *h)
{
    const struct prior_kernels *kernels = ISA_PICK(prior_kernels);
    const int64_t slices = v->slices, row = 3 * (slices + PRIOR_PAD);
    struct qggmrf q;
    struct power_tables tables;
    TRY(qggmrf_init(r, &q));
    const struct power_tables *power = power_tables_fill(&q, &tables) ? &tables : NULL;
    /* a voxel costs 5 powers: some 16 times what the others' elements cost */
    const int threads = cpu_team(be, 16 * pixels->count * slices);
    void *scratch;
    TRY(mem_alloc("prior scratch", (size_t)(row * threads) * sizeof(float), &scratch));
#pragma omp parallel num_threads(threads)
    {
        float *own = (float *)scratch + row * omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t n = 0; n < pixels->count; n++) {
            const int64_t pixel = pixel_at(pixels, n);
            const float *around[4];
            if (backend_stopped_at(be, n))
                continue;
            if (n + 2 < pixels->count)
                prior_fetch(v, x, pixel_at(pixels, n + 2));
            prior_neighbours(v, x, pixel, around);
            kernels->cylinder(&q, power, x + pixel * slices, around, slices, own, g + n * slices,
                              h + n * slices);
        }
    }
    mem_free(scratch);
    double voxels = (double)pixels->count * (double)slices;
    backend_declare(be, qggmrf_flops(&q) * voxels, 12 * voxels, 28 * voxels);
    return ERR_OK;
}

static enum err proximal_terms(struct backend *be, const struct volume *v, double sigma,
                               const struct pixel_set *pixels, const float *x, const float *target,
                               float *g, float *h)
{
    FAIL_IF(!(sigma > 0), ERR_INPUT, "sigma_prox %g must be greater than 0", sigma);
    const int64_t slices = v->slices;
    const float weight = (float)(1 / (sigma * sigma));
#pragma omp parallel for num_threads(cpu_team(be, pixels->count *slices)) schedule(static)
    for (int64_t n = 0; n < pixels->count; n++) {
        const int64_t from = pixel_at(pixels, n) * slices, to = n * slices;
        if (backend_stopped_at(be, n))
            continue;
        for (int64_t k = 0; k < slices; k++) {
            g[to + k] = weight * (x[from + k] - target[from + k]);
            h[to + k] = weight;
        }
    }
    double voxels = (double)pixels->count * (double)slices;
    backend_declare(be, 2 * voxels, 16 * voxels, 16 * voxels);
    return ERR_OK;
}

enum err cpu_prior_terms(struct backend *be, const struct volume *v, const struct prior *prior,
                         const struct pixel_set *pixels, const struct buffer *x, struct buffer *g,
                         struct buffer *h)
{
    const struct regularisation *r = prior->regularisation;
    if (prior->prox_target)
        return proximal_terms(be, v, r->sigma_prox, pixels, x->ptr, prior->prox_target->ptr, g->ptr,
                              h->ptr);
    return qggmrf_terms(be, v, r, pixels, x->ptr, g->ptr, h->ptr);
}
