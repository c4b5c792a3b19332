/* Compares rows of the bench by what the machine could have done in their time. */
#include <math.h>
#include <string.h>

#include "host/suite/bench/bench.h"

#define UNKNOWN ((double)NAN)

static double peak_of(const struct calibration *c, enum bench_bound bound)
{
    double copy = fmax(c->peak.bytes_per_s, c->cached_bytes_per_s);
    double rate = bound == BOUND_ARITHMETIC ? c->peak.flops_per_s : bound == BOUND_COPY ? copy : 0;
    return rate > 0 ? rate : UNKNOWN;
}

double bench_drift(const struct bench_row *row)
{
    double before = peak_of(&row->before, row->bound), after = peak_of(&row->after, row->bound);
    return fabs(after - before) / fmax(after, before);
}

struct cost_range {
    double low, high;
};

/* By the two calibrations; fmin and fmax ignore a NAN unless both are. */
static struct cost_range cost_of(const struct bench_row *row, enum bench_bound bound)
{
    double before = peak_of(&row->before, bound), after = peak_of(&row->after, bound);
    return (struct cost_range){row->min * fmin(before, after), row->min * fmax(before, after)};
}

struct bench_comparison bench_compare(const struct bench_row *now, const struct bench_row *then,
                                      double tolerance)
{
    struct bench_comparison c = {UNKNOWN, VERDICT_UNKNOWN};
    if (now->status != ROW_OK || then->status != ROW_OK)
        return c;
    struct cost_range a = cost_of(now, then->bound), b = cost_of(then, then->bound);
    const double least = a.low / b.high, most = a.high / b.low, factor = 1 + tolerance;
    c.ratio = a.high / b.high;
    if (isnan(c.ratio))
        return c;
    c.verdict = least > factor                        ? VERDICT_SLOWER
                : most * factor < 1                   ? VERDICT_FASTER
                : least * factor < 1 || most > factor ? VERDICT_UNSTEADY
                                                      : VERDICT_SAME;
    return c;
}

enum err bench_same_class(const char *path, const struct bench_results *file,
                          const struct bench_results *here, int *other_cpu)
{
    const struct environment *then = &file->environment, *now = &here->environment;
    FAIL_IF(strcmp(then->backend, now->backend), ERR_INPUT,
            "%s: measured with the back end %s, this is %s: not comparable", path, then->backend,
            now->backend);
    FAIL_IF(strcmp(then->isa, now->isa), ERR_INPUT,
            "%s: measured with the instruction set %s, this is %s: not comparable", path, then->isa,
            now->isa);
    FAIL_IF(then->threads != now->threads, ERR_INPUT,
            "%s: measured on a machine of %d threads, this has %d: not comparable", path,
            then->threads, now->threads);
    if (other_cpu)
        *other_cpu = strcmp(then->cpu, now->cpu) != 0;
    return ERR_OK;
}
