/* Weights of MBIR by rule; metal by Otsu's thresholds, searched on the host. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/recon/recon.h"
#include "host/recon/weights.h"

#define BINS 1024

enum err gen_weights(struct backend *be, enum weights_kind kind, const struct buffer *y,
                     struct buffer *w)
{
    const struct weights_rule rule = {.kind = kind, .beta = 1};
    return be->ops->make_weights(be, &rule, y, NULL, w);
}

#define LOOK ((int64_t)1 << 16) /* values between two looks at the wish to end */

static int value_stops(const struct backend *be, int64_t i)
{
    return i % LOOK == 0 && backend_stopped(be);
}

static enum err weights_histogram(const struct backend *be, const float *x, int64_t n,
                                  double edges[BINS + 1], double bins[BINS])
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n && !value_stops(be, i); i++) {
        FAIL_IF(!isfinite(x[i]), ERR_INPUT,
                "value %lld is not finite: repair it before metal is looked for", (long long)i);
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    if (!(low < high)) {
        low -= 0.5;
        high += 0.5;
    }
    for (int i = 0; i <= BINS; i++)
        edges[i] = i < BINS ? low + (high - low) / BINS * i : high;
    for (int i = 0; i < BINS; i++)
        bins[i] = 0;
    for (int64_t i = 0; i < n && !value_stops(be, i); i++) {
        int bin = (int)(((double)x[i] - low) / (high - low) * BINS);
        bin -= bin == BINS;
        bin -= bin > 0 && (double)x[i] < edges[bin];
        bin += bin < BINS - 1 && (double)x[i] >= edges[bin + 1];
        bins[bin]++;
    }
    return ERR_OK;
}

/* Sums over the bins before each edge, of 1, c and c^2 with c from -1 to 1. */
struct bin_moments {
    double count[BINS + 1], first[BINS + 1], second[BINS + 1];
};

static double bins_cost(const struct bin_moments *m, int from, int to)
{
    const double n = m->count[to] - m->count[from], a = m->first[to] - m->first[from];
    const double b = m->second[to] - m->second[from];
    return n > 0 ? fmax(b - a * a / n, 0) : 0;
}

static void bins_moments(const double bins[BINS], struct bin_moments *m)
{
    *m = (struct bin_moments){0};
    for (int i = 0; i < BINS; i++) {
        const double c = (i - 0.5 * (BINS - 1)) / (0.5 * (BINS - 1));
        m->count[i + 1] = m->count[i] + bins[i];
        m->first[i + 1] = m->first[i] + c * bins[i];
        m->second[i + 1] = m->second[i] + c * c * bins[i];
    }
}

/* Splits the bins at 0 < first < second < BINS; of equal costs the first. */
static void best_cuts(const struct bin_moments *m, int *first, int *second)
{
    double least = INFINITY;
    int cut[BINS];
    double best[BINS];
    for (int b = 2; b < BINS; b++) {
        best[b] = INFINITY;
        for (int a = 1; a < b; a++) {
            const double c = bins_cost(m, 0, a) + bins_cost(m, a, b);
            if (c < best[b]) {
                best[b] = c;
                cut[b] = a;
            }
        }
        const double whole = best[b] + bins_cost(m, b, BINS);
        if (whole < least) {
            least = whole;
            *first = cut[b];
            *second = b;
        }
    }
}

/* The two thresholds that cut n values into three classes of least variance within (Otsu), at the
 * left edges of 1024 bins between the extremes. ERR_INPUT when a value is not finite. */
static enum err otsu_three(const struct backend *be, const float *x, int64_t n,
                           double thresholds[2])
{
    double edges[BINS + 1], bins[BINS];
    struct bin_moments m;
    int first = 1, second = 2;
    TRY(weights_histogram(be, x, n, edges, bins));
    bins_moments(bins, &m);
    best_cuts(&m, &first, &second);
    thresholds[0] = edges[first];
    thresholds[1] = edges[second];
    return ERR_OK;
}

/* The upper threshold of a buffer; with `mask` its voxels above it become 1, the others 0. */
static enum err metal_of(struct backend *be, const struct buffer *b, float **mask,
                         double *threshold)
{
    double thresholds[2];
    void *copy;
    TRY(mem_alloc("search for metal", b->bytes, &copy));
    float *x = copy;
    enum err e = be->ops->download(be, b, x, b->bytes);
    const int64_t n = (int64_t)(b->bytes / sizeof(float));
    if (!e)
        e = otsu_three(be, x, n, thresholds);
    if (!e && mask)
        for (int64_t i = 0; i < n && !value_stops(be, i); i++)
            x[i] = (double)x[i] > thresholds[1];
    if (!e)
        *threshold = thresholds[1];
    if (e || !mask)
        mem_free(copy);
    else
        *mask = x;
    return e;
}

/* Rays through the metal of the initial volume: `hit` is above 0 there. */
static enum err project_metal(struct backend *be, const struct ct_model *m,
                              const struct buffer *initial, struct buffer *hit)
{
    double threshold;
    float *mask;
    struct buffer metal = {0};
    TRY(metal_of(be, initial, &mask, &threshold));
    enum err e = be->ops->upload(be, mask, initial->bytes, &metal);
    if (!e)
        e = forward_project(be, m, &metal, hit);
    if (!e)
        e = be->ops->sync(be);
    if (metal.ptr)
        be->ops->release(be, &metal);
    mem_free(mask);
    return e;
}

enum err gen_weights_mar(struct backend *be, const struct ct_model *m, const struct buffer *y,
                         const struct mar_options *o, struct buffer *w)
{
    struct weights_rule rule = {.kind = WEIGHTS_MAR, .beta = o->beta, .gamma = o->gamma};
    struct buffer hit = {0};
    FAIL_IF(!(o->beta > 0) || !(o->gamma >= 0), ERR_USAGE,
            "beta %g must be above 0, gamma %g at least 0", o->beta, o->gamma);
    if (!o->initial) {
        TRY(metal_of(be, y, NULL, &rule.threshold));
        return be->ops->make_weights(be, &rule, y, NULL, w);
    }
    TRY(be->ops->alloc(be, "projection of the metal", y->bytes, &hit));
    enum err e = project_metal(be, m, o->initial, &hit);
    if (!e)
        e = be->ops->make_weights(be, &rule, y, &hit, w);
    be->ops->release(be, &hit);
    return e;
}
