/* Median, percentile, spread, and rates against the peak. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/suite/statistics/stats.h"

#define PLAUSIBLE 1.05

static double quantile_of(const double *sorted, int n, double q)
{
    double at = q * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

struct statistics statistics_of(const double *seconds, int n)
{
    struct statistics s = {n, NAN, NAN, NAN, NAN, NAN};
    double *sorted = n > 0 ? malloc((size_t)n * sizeof *sorted) : NULL;
    if (!sorted) {
        s.n = 0;
        return s;
    }
    memcpy(sorted, seconds, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending_double);
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += sorted[i];
    s.mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (sorted[i] - s.mean) * (sorted[i] - s.mean);
    s.min = sorted[0];
    s.median = quantile_of(sorted, n, 0.5);
    s.p95 = quantile_of(sorted, n, 0.95);
    if (n > 1 && s.mean > 0)
        s.cv = sqrt(squares / (n - 1)) / s.mean;
    free(sorted);
    return s;
}

/* amount / seconds, NAN when either is unknown. */
static double rate_of(double amount, double seconds)
{
    return amount > 0 && seconds > 0 ? amount / seconds : (double)NAN;
}

struct rates rates_of(double seconds, const struct work *work, double updates,
                      const struct peak *peak)
{
    double flops = rate_of(work->flops, seconds), bytes = rate_of(work->bytes_min, seconds);
    struct rates r = {.gflops = flops * 1e-9, .gbytes_per_s = bytes * 1e-9};
    r.updates_per_s = rate_of(updates, seconds);
    /* fmax ignores a NAN unless both are. */
    r.roof_share = fmax(peak->flops_per_s > 0 ? flops / peak->flops_per_s : (double)NAN,
                        peak->bytes_per_s > 0 ? bytes / peak->bytes_per_s : (double)NAN);
    r.implausible = r.roof_share > PLAUSIBLE;
    return r;
}

#define GRID                                                                                       \
    160 /* steps of 0.05: the residual has one valley per fit in practice, the grid finds it */
#define GOLDEN 0.6180339887498949
#define REFINE 60 /* 0.1 * 0.618^60 = 3e-14 */

struct line {
    double a, b, residual;
};

/* Relative least squares of t = a + b x^p over a, b >= 0, with x = size / largest so that x^p
 * cannot overflow. */
static struct line line_with_power(const double *x, const double *t, int n, double p)
{
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
    for (int i = 0; i < n; i++) {
        double u = 1 / t[i], v = pow(x[i], p) / t[i];
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    /* The optimum inside the quadrant, if there is one, else the better of its two edges. */
    double det = uu * vv - uv * uv;
    struct line tries[3] = {{u1 / uu, 0, 0}, {0, v1 / vv, 0}, {-1, -1, 0}};
    if (det > 1e-14 * uu * vv)
        tries[2] = (struct line){(vv * u1 - uv * v1) / det, (uu * v1 - uv * u1) / det, 0};
    struct line best = {0, 0, INFINITY};
    for (int k = 0; k < 3; k++) {
        struct line l = tries[k];
        if (l.a < 0 || l.b < 0)
            continue;
        for (int i = 0; i < n; i++) {
            double r = (l.a + l.b * pow(x[i], p)) / t[i] - 1;
            l.residual += r * r;
        }
        if (l.residual < best.residual)
            best = l;
    }
    return best;
}

/* The p of least residual: a grid over [0, FIT_P_MAX], then a golden-section search around its best
 * point. */
static double best_power(const double *x, const double *t, int n)
{
    double step = (double)FIT_P_MAX / GRID, best = 0, least = INFINITY;
    for (int g = 0; g <= GRID; g++) {
        double r = line_with_power(x, t, n, g * step).residual;
        if (r < least) {
            least = r;
            best = g * step;
        }
    }
    double low = fmax(0, best - step), high = fmin(FIT_P_MAX, best + step);
    for (int k = 0; k < REFINE; k++) {
        double left = high - GOLDEN * (high - low), right = low + GOLDEN * (high - low);
        if (line_with_power(x, t, n, left).residual < line_with_power(x, t, n, right).residual)
            high = right;
        else
            low = left;
    }
    return (low + high) / 2;
}

/* 1 - residual / variance, both relative to t. NAN for times that are all equal. */
static double variance_explained(const double *t, int n, double residual)
{
    double weight = 0, sum = 0, variance = 0;
    for (int i = 0; i < n; i++) {
        weight += 1 / (t[i] * t[i]);
        sum += 1 / t[i];
    }
    for (int i = 0; i < n; i++) {
        double r = 1 - sum / weight / t[i];
        variance += r * r;
    }
    return variance > 1e-20 ? 1 - residual / variance : (double)NAN;
}

struct fit fit_power(const double *size, const double *seconds, int n)
{
    struct fit f = {NAN, NAN, NAN, NAN, n, NULL};
    if (n < 3) {
        f.reason = "needs at least 3 sizes that were measured";
        return f;
    }
    double x[64];
    if (n > 64) {
        f.reason = "more than 64 sizes";
        return f;
    }
    for (int i = 0; i < n; i++)
        x[i] = size[i] / size[n - 1];
    double p = best_power(x, seconds, n);
    struct line l = line_with_power(x, seconds, n, p);
    f.a = l.a;
    f.r2 = variance_explained(seconds, n, l.residual);
    if (l.b <= 1e-9 * l.a) {
        f.b = 0;
        f.reason = "the time does not grow with the size";
        return f;
    }
    f.p = p;
    f.b = l.b / pow(size[n - 1], p);
    return f;
}

/* Ratios of pairs: the order statistics that hold their median. */

#define OUTSIDE 0.005 /* on either side */

/* How many of n sorted values may be left out on either side: the chance that so many, or fewer, of
 * n lie below the median is at most OUTSIDE. -1: none, not even all of them are enough. */
static int pairs_left_out(int n)
{
    double term = pow(0.5, n), sum = term;
    int k = -1;
    while (sum <= OUTSIDE) {
        k++;
        term *= (double)(n - k) / (k + 1);
        sum += term;
    }
    return k;
}

struct pair_share pair_share_of(double *ratios, int n)
{
    struct pair_share s = {n, NAN, 0, INFINITY};
    if (!n)
        return s;
    qsort(ratios, (size_t)n, sizeof *ratios, ascending_double);
    const int out = n < PAIRS_LEAST ? -1 : pairs_left_out(n);
    s.median = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2;
    if (out >= 0) {
        s.low = ratios[out];
        s.high = ratios[n - 1 - out];
    }
    return s;
}

enum err pairs_gather(const struct pair_source *source, struct pair_share *out)
{
    double ratios[PAIRS_MOST], sorted[PAIRS_MOST], copy, call;
    int n = 0, ask = PAIRS_LEAST;
    *out = (struct pair_share){0, NAN, 0, INFINITY};
    for (int done = 0; !done;) {
        TRY(source->next(source->context, &copy, &call));
        FAIL_IF(!(copy > 0) || !(call > 0), ERR_FAILED,
                "a copy took %g s and a call %g s: the clock does not move", copy, call);
        ratios[n++] = copy / call;
        if (n < ask && n < PAIRS_MOST)
            continue;
        memcpy(sorted, ratios, (size_t)n * sizeof *ratios);
        *out = pair_share_of(sorted, n);
        done = n == PAIRS_MOST || source->enough(source->context, out);
        ask = n + n / 2;
    }
    return ERR_OK;
}

void pairs_join(struct pairs_joined *all, const struct pair_share *one)
{
    struct pair_share *s = &all->share;
    if (all->count == PAIR_PROCESSES)
        return;
    s->low = all->count ? fmin(s->low, one->low) : one->low;
    s->high = all->count ? fmax(s->high, one->high) : one->high;
    s->n += one->n;
    int at = all->count++;
    for (; at > 0 && all->medians[at - 1] > one->median; at--)
        all->medians[at] = all->medians[at - 1];
    all->medians[at] = one->median;
    s->median = all->medians[(all->count - 1) / 2];
}
