/* VCD with the identity as forward model, of the pieces that MBIR has. e = image - x is what the
 * proximal prior around the image gives, with the opposite sign. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/geom/ct_model.h"
#include "host/recon/denoise.h"
#include "host/recon/mbir.h"

#define SUBSETS 16
#define SAMPLES 5e6 /* voxels of which the noise is estimated */
#define VIEWS   20  /* first indices of which sigma_x is */
#define FLOOR   0.05

struct denoiser {
    struct backend *be;
    const struct volume *v;
    const struct denoise_options *options;
    struct regularisation r, unit; /* unit: sigma_prox 1 */
    struct partition part;
    struct buffer gradient, curvature, delta, error, ones, hessian;
};

/* Every a-th, b-th and c-th voxel of the image. */
struct thinned {
    const struct backend *be; /* asked for the wish to end */
    const float *x;
    int64_t size[3], step[3], stride[3];
};

static struct thinned volume_thin(const struct backend *be, const struct volume *v, const float *x,
                                  const int64_t step[3])
{
    struct thinned t = {.be = be, .x = x};
    const int64_t full[3] = {v->rows, v->cols, v->slices};
    const int64_t stride[3] = {v->cols * v->slices, v->slices, 1};
    for (int d = 0; d < 3; d++) {
        t.size[d] = (full[d] + step[d] - 1) / step[d];
        t.stride[d] = stride[d] * step[d];
    }
    return t;
}

static float thinned_at(const struct thinned *t, int64_t i, int64_t j, int64_t k)
{
    i = i < 0 ? t->size[0] - 1 : i; /* as Python's index -1 */
    j = j < 0 ? t->size[1] - 1 : j;
    k = k < 0 ? t->size[2] - 1 : k;
    return t->x[i * t->stride[0] + j * t->stride[1] + k * t->stride[2]];
}

static double thinned_deviation(const struct thinned *t, int64_t i, int64_t j, int64_t k)
{
    const double a[4] = {(double)thinned_at(t, i, j, k), (double)thinned_at(t, i - 1, j, k),
                         (double)thinned_at(t, i, j - 1, k), (double)thinned_at(t, i, j, k - 1)};
    const double mean = (a[0] + a[1] + a[2] + a[3]) / 4;
    double sum = 0;
    for (int n = 0; n < 4; n++)
        sum += (a[n] - mean) * (a[n] - mean);
    return sqrt(sum / 4);
}

/* Mean deviation of a voxel and its three predecessors where the object is. */
static double typical_deviation(const struct thinned *t, double sigma_noise)
{
    double magnitude = 0, most = -INFINITY, sum = 0, n = 0;
    const double voxels = (double)t->size[0] * (double)t->size[1] * (double)t->size[2];
    for (int64_t i = 0; i < t->size[0] && !backend_stopped(t->be); i++)
        for (int64_t j = 0; j < t->size[1]; j++)
            for (int64_t k = 0; k < t->size[2]; k++) {
                magnitude += fabs((double)thinned_at(t, i, j, k));
                most = fmax(most, (double)thinned_at(t, i, j, k));
            }
    const float level = (float)fmin(FLOOR * magnitude / voxels + sigma_noise, most);
    for (int64_t i = 0; i < t->size[0] && !backend_stopped(t->be); i++)
        for (int64_t j = 0; j < t->size[1]; j++)
            for (int64_t k = 0; k < t->size[2]; k++)
                if (thinned_at(t, i, j, k) >= level) {
                    sum += thinned_deviation(t, i, j, k);
                    n++;
                }
    return n > 0 ? sum / n : 0;
}

static double estimate_noise(const struct backend *be, const struct volume *v, const float *x)
{
    const double n = (double)volume_voxels(v);
    const int64_t s = (int64_t)rint(cbrt(n / fmin(SAMPLES, n))), step[3] = {s, s, s};
    const struct thinned t = volume_thin(be, v, x, step);
    return typical_deviation(&t, typical_deviation(&t, 0));
}

static enum err denoiser_regularise(struct denoiser *d, const struct buffer *in)
{
    const struct volume *v = d->v;
    void *copy;
    TRY(mem_alloc("noise estimate", in->bytes, &copy));
    enum err e = d->be->ops->download(d->be, in, copy, in->bytes);
    if (!e) {
        const int64_t step[3] = {v->rows / (v->rows < VIEWS ? v->rows : VIEWS), 1, 1};
        const struct thinned t = volume_thin(d->be, v, copy, step);
        const double given = d->options->sigma_noise;
        d->r.sigma_y = given > 0 ? given : estimate_noise(d->be, v, copy);
        d->r.sigma_x = d->options->sigma_x > 0 ? d->options->sigma_x
                                               : 0.2 * exp2(d->options->sharpness) *
                                                     typical_deviation(&t, d->r.sigma_y);
    }
    mem_free(copy);
    TRY(e);
    FAIL_IF(!(d->r.sigma_y > 0 && d->r.sigma_x > 0), ERR_INPUT,
            "the image has no noise to remove (sigma_noise %g, sigma_x %g)", d->r.sigma_y,
            d->r.sigma_x);
    return ERR_OK;
}

/* The Hessian of the data term that makes vcd_direction's H/sigma_y^2 one, as MBIRJAX has it. */
static enum err fill_hessian(struct denoiser *d)
{
    const size_t n = (size_t)volume_voxels(d->v);
    void *host;
    TRY(mem_alloc("Hessian of the identity", n * sizeof(float), &host));
    float *h = host;
    for (size_t i = 0; i < n; i++)
        h[i] = (float)(d->r.sigma_y * d->r.sigma_y);
    struct buffer lent = {0};
    enum err e = d->be->ops->upload(d->be, h, n * sizeof(float), &lent);
    if (!e)
        e = d->be->ops->copy(d->be, &lent, &d->hessian);
    if (!e)
        e = d->be->ops->sync(d->be);
    if (lent.ptr)
        d->be->ops->release(d->be, &lent);
    mem_free(host);
    return e;
}

static enum err denoiser_draw(struct denoiser *d)
{
    struct volume whole = *d->v;
    struct rng r;
    int32_t *pixels;
    int64_t count;
    whole.ror = ROR_NONE;
    TRY(volume_pixels_inside(&whole, &pixels, &count));
    rng_seed(&r, d->options->seed);
    enum err e = partition_create(pixels, count, SUBSETS, &r, &d->part);
    free(pixels);
    return e;
}

static enum err denoiser_create(struct denoiser *d, const struct buffer *in)
{
    const struct backend_ops *ops = d->be->ops;
    TRY(denoiser_regularise(d, in));
    d->unit = d->r;
    d->unit.sigma_prox = 1;
    if (d->options->part)
        d->part = *d->options->part;
    else
        TRY(denoiser_draw(d));
    const size_t bytes = (size_t)(d->part.length * d->v->slices) * sizeof(float);
    TRY(ops->alloc(d->be, "prior gradient", bytes, &d->gradient));
    TRY(ops->alloc(d->be, "prior curvature", bytes, &d->curvature));
    TRY(ops->alloc(d->be, "update", bytes, &d->delta));
    TRY(ops->alloc(d->be, "error", bytes, &d->error));
    TRY(ops->alloc(d->be, "unit curvature", bytes, &d->ones));
    TRY(ops->alloc(d->be, "Hessian of the identity", in->bytes, &d->hessian));
    return fill_hessian(d);
}

static void denoiser_free(struct denoiser *d)
{
    struct buffer *const all[] = {&d->gradient, &d->curvature, &d->delta,
                                  &d->error,    &d->ones,      &d->hessian};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        d->be->ops->release(d->be, all[i]);
    if (!d->options->part)
        partition_free(&d->part);
}

static enum err denoiser_update_subset(struct denoiser *d, const struct pixel_set *pixels,
                                       const struct buffer *in, struct buffer *x,
                                       struct vcd_totals *totals)
{
    struct backend *be = d->be;
    const struct backend_ops *ops = be->ops;
    const struct prior qggmrf = {&d->r, NULL}, around = {&d->unit, in};
    const double eps = (double)FLT_EPSILON, inverse = 1 / (d->r.sigma_y * d->r.sigma_y);
    struct vcd_sums priors, data;
    double moved;
    PHASE("prior", ops->prior_terms(be, d->v, &qggmrf, pixels, x, &d->gradient, &d->curvature));
    TRY(ops->prior_terms(be, d->v, &around, pixels, x, &d->error, &d->ones));
    TRY(ops->scale(be, -1, &d->error));
    TRY(ops->copy(be, &d->error, &d->delta));
    PHASE("direction", ops->vcd_direction(be, d->v, pixels, d->r.sigma_y, NULL, &d->hessian,
                                          &d->gradient, &d->curvature, &d->delta, &priors));
    TRY(ops->weighted_dots(be, NULL, &d->error, &d->delta, &data));
    if (backend_stopped(be)) /* the direction is incomplete: x keeps its whole steps */
        return ERR_OK;
    const double alpha = fmin(fmax((inverse * data.linear - priors.linear) /
                                       (inverse * data.quadratic + priors.quadratic + eps),
                                   eps),
                              d->r.max_overrelaxation);
    PHASE("recon update", ops->add_cylinders(be, d->v, pixels, alpha, &d->delta, x, &moved));
    totals->moved += moved;
    totals->alpha += alpha;
    return ERR_OK;
}

static enum err denoiser_iterate(struct denoiser *d, const struct buffer *in, struct buffer *x,
                                 struct denoise_report *report)
{
    struct vcd_totals totals = {0};
    double size;
    for (int64_t s = 0; s < d->part.subsets && !backend_stopped(d->be); s++) {
        const struct pixel_set pixels = {d->part.indices + s * d->part.length, d->part.length, 1};
        TRY(denoiser_update_subset(d, &pixels, in, x, &totals));
    }
    FAIL_IF(backend_stopped(d->be), ERR_INTERRUPTED, "interrupted in iteration %lld of %lld",
            (long long)report->iterations + 1, (long long)d->options->max_iterations);
    TRY(d->be->ops->sum_abs(d->be, x, &size));
    FAIL_IF(!isfinite(size) || !isfinite(totals.moved), ERR_INPUT,
            "the image left the range of float32 (sigma_noise %g, sigma_x %g): multiply it by a "
            "power of two that brings its values near 1",
            d->r.sigma_y, d->r.sigma_x);
    report->iterations++;
    report->change_percent = 100 * totals.moved / size;
    report->alpha = totals.alpha / (double)d->part.subsets;
    return ERR_OK;
}

enum err qggmrf_denoise(struct backend *be, const struct volume *v, const struct regularisation *r,
                        const struct buffer *in, const struct denoise_options *o,
                        struct buffer *out, struct denoise_report *report)
{
    struct ct_model defaults;
    ct_model_init(&defaults);
    struct denoiser d = {.be = be, .v = v, .options = o, .r = r ? *r : defaults.regularisation};
    *report = (struct denoise_report){0};
    enum err e = denoiser_create(&d, in);
    report->sigma_noise = d.r.sigma_y;
    report->sigma_x = d.r.sigma_x;
    if (!e)
        e = be->ops->copy(be, o->initial ? o->initial : in, out);
    while (!e && report->iterations < o->max_iterations && !backend_stopped(be)) {
        e = denoiser_iterate(&d, in, out, report);
        if (!e && o->on_iteration)
            o->on_iteration(o->context, report->iterations, o->max_iterations);
        if (report->change_percent < o->stop_threshold_percent)
            break;
    }
    denoiser_free(&d);
    return e;
}
