/* The statistics of many durations as a row of the model. */
#include <math.h>

#include "profiler/analyze/build/stat.h"

struct model_stat stat_of(struct dist *d)
{
    struct model_stat s;
    json_blank(&record_model_stat, &s);
    s.n = (int64_t)d->n;
    s.total_s = d->sum * 1e-9;
    if (!d->n)
        return s;
    s.min_s = (double)d->min * 1e-9;
    s.max_s = (double)d->max * 1e-9;
    s.median_s = dist_quantile(d, 0.5) * 1e-9;
    s.p95_s = dist_quantile(d, 0.95) * 1e-9;
    if (d->n > 1)
        s.sd_s = sqrt(fmax(d->m2, 0) / (double)(d->n - 1)) * 1e-9;
    return s;
}
