/* Median, percentile, spread, and rates against the peak. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/suite/statistics/stats.h"

#define PLAUSIBLE 1.05

static double quantile(const double *sorted, int n, double q)
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
    s.median = quantile(sorted, n, 0.5);
    s.p95 = quantile(sorted, n, 0.95);
    if (n > 1 && s.mean > 0)
        s.cv = sqrt(squares / (n - 1)) / s.mean;
    free(sorted);
    return s;
}

/* amount / seconds, NAN when either is unknown. */
static double rate(double amount, double seconds)
{
    return amount > 0 && seconds > 0 ? amount / seconds : (double)NAN;
}

struct rates rates_of(double seconds, const struct work *work, double updates,
                      const struct peak *peak)
{
    double flops = rate(work->flops, seconds), bytes = rate(work->bytes_min, seconds);
    struct rates r = {.gflops = flops * 1e-9, .gbytes_per_s = bytes * 1e-9};
    r.updates_per_s = rate(updates, seconds);
    /* fmax ignores a NAN unless both are. */
    r.roof_share = fmax(peak->flops_per_s > 0 ? flops / peak->flops_per_s : (double)NAN,
                        peak->bytes_per_s > 0 ? bytes / peak->bytes_per_s : (double)NAN);
    r.implausible = r.roof_share > PLAUSIBLE;
    return r;
}
