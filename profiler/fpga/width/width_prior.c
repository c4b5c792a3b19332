/* The slow twin of the MBIR prior and its updates: VCD with a qGGMRF prior on one slice. */
#include <math.h>
#include <stdlib.h>

#include "profiler/fpga/width/width_twin.h"

/* Surrogate weight of the qGGMRF prior at p = 2 (host/cpu/vcd/prior_kernel.c), without 1/sigma_x^2:
 * a table in hardware. */
static double twin_surrogate(const struct twin_prior *p, double difference)
{
    const double t = fmax(fabs(difference) / p->sigma_x, 0x1p-23);
    const double e = pow(t, p->q - 2);
    return e * (p->q / 2 + e) / ((1 + e) * (1 + e));
}

/* Computes gradient and curvature of the prior at pixel i over its 4 neighbours of the slice. */
static void prior_terms_at(const struct twin *t, struct formats *f, const struct twin_prior *p,
                           const double *x, int i, double *gradient, double *curvature)
{
    const int n = t->n, row = i / n, col = i % n;
    const int near[4] = {row ? i - n : i, row + 1 < n ? i + n : i, col ? i - 1 : i,
                         col + 1 < n ? i + 1 : i};
    double g = 0, h = 0;
    for (int k = 0; k < 4; k++) {
        const double difference = x[i] - x[near[k]];
        const double w = formats_pass(f, STAGE_COEFFICIENT, twin_surrogate(p, difference));
        g = formats_pass(f, STAGE_SUM, g + formats_pass(f, STAGE_PRODUCT, w * difference));
        h += w;
    }
    const double scale = 0.25 / (p->sigma_x * p->sigma_x);
    *gradient = g * scale;
    *curvature = h * scale;
}

/* Memory that twin_update works in. */
struct prior_scratch {
    double *error, *projected, *likelihood, *hessian, *step, *gradient, *curvature;
};

static void prior_scratch_free(struct prior_scratch *w)
{
    double **all[] = {&w->error, &w->projected, &w->likelihood, &w->hessian,
                      &w->step,  &w->gradient,  &w->curvature};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(*all[i]);
}

static enum err prior_scratch_create(const struct twin *t, struct prior_scratch *w)
{
    const size_t samples = (size_t)t->views * (size_t)t->n, pixels = (size_t)t->n * (size_t)t->n;
    double **all[] = {&w->error, &w->projected, &w->likelihood, &w->hessian,
                      &w->step,  &w->gradient,  &w->curvature};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        FAIL_IF(!(*all[i] = calloc(i < 2 ? samples : pixels, sizeof(double))), ERR_MEMORY,
                "no memory left for the simulation of number widths");
    return ERR_OK;
}

/* Step of the pixels of a subset, by diagonal Newton; the rest of w->step is 0. */
static void prior_newton_step(const struct twin *t, struct formats *f, const struct twin_prior *p,
                              const double *x, int subset, struct prior_scratch *w)
{
    const double inverse = 1 / (p->sigma_y * p->sigma_y);
    for (int i = 0; i < t->n * t->n; i++) {
        w->step[i] = 0;
        if ((i / t->n % 2) * 2 + i % 2 != subset)
            continue;
        prior_terms_at(t, f, p, x, i, &w->gradient[i], &w->curvature[i]);
        w->gradient[i] -= inverse * w->likelihood[i];
        w->step[i] = -w->gradient[i] / (inverse * w->hessian[i] + w->curvature[i]);
    }
}

/* The step length that minimises the quadratic surrogate along w->step. */
static double line_search(const struct twin *t, const struct twin_prior *p, struct prior_scratch *w)
{
    twin_exact_forward(t, w->step, w->projected);
    double down = 0, bend = 0;
    for (int i = 0; i < t->views * t->n; i++)
        bend += w->projected[i] * w->projected[i] / (p->sigma_y * p->sigma_y);
    for (int i = 0; i < t->n * t->n; i++)
        if (w->step[i] != 0) {
            down -= w->gradient[i] * w->step[i];
            bend += w->curvature[i] * w->step[i] * w->step[i];
        }
    return bend > 0 ? down / bend : 0;
}

/* The volume lives in memory as samples: each update is rounded. The error sinogram follows what
 * was stored. */
static void prior_update_subset(const struct twin *t, struct formats *f, const struct twin_prior *p,
                                const double *y, double *x, int subset, struct prior_scratch *w)
{
    twin_exact_forward(t, x, w->projected);
    for (int i = 0; i < t->views * t->n; i++)
        w->error[i] = y[i] - w->projected[i];
    twin_exact_back(t, w->error, w->likelihood);
    prior_newton_step(t, f, p, x, subset, w);
    const double length = line_search(t, p, w);
    for (int i = 0; i < t->n * t->n; i++)
        if (w->step[i] != 0)
            x[i] = formats_pass(f, STAGE_SAMPLE, x[i] + length * w->step[i]);
    number_round_all(&f->of[STAGE_SAMPLE], x, (int64_t)t->n * t->n, x, &f->faults);
}

enum err twin_update(const struct twin *t, struct formats *f, const struct twin_prior *p,
                     const double *y, double *x)
{
    struct formats wide = formats_wide();
    struct prior_scratch w = {0};
    enum err e = prior_scratch_create(t, &w);
    for (int i = 0; !e && i < t->views * t->n; i++)
        w.error[i] = 1;
    if (!e)
        e = twin_back(t, &wide, 2, w.error, w.hessian);
    for (int i = 0; !e && i < t->n * t->n; i++)
        x[i] = formats_pass(f, STAGE_SAMPLE, x[i]);
    for (int k = 0; !e && k < 4 * p->rounds; k++)
        prior_update_subset(t, f, p, y, x, k % 4, &w);
    prior_scratch_free(&w);
    return e;
}
