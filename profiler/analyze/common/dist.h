/* Count, sum, extremes, deviation and quantiles of many durations in little memory: exact up to
 * DIST_EXACT values, then a histogram of 32 steps per octave (quantiles within 2 %). */
#ifndef TP_ANALYZE_COMMON_DIST_H
#define TP_ANALYZE_COMMON_DIST_H

#include <stdint.h>

#include "base/err.h"
#include "base/table.h"

#define DIST_EXACT 512

struct dist { /* all zero = empty */
    uint64_t n, min, max;
    double sum, mean, m2; /* ns; Welford */
    uint64_t *values;     /* the first ones, until there is a histogram */
    uint32_t room;
    uint32_t *histogram;
};
void dist_free(struct dist *d);
enum err dist_add(struct dist *d, uint64_t ns);
enum err dist_merge(struct dist *to, const struct dist *from);
double dist_quantile(struct dist *d, double q); /* ns; NaN when empty */

/* Counts, values and times of anything that has a name or a few small numbers: CUDA calls,
 * transfers, ranges, modules without lines. */

struct counter { /* anything that is counted by a name or a few small numbers */
    const char *name, *domain;
    uint32_t key[4];
    uint64_t errors, open, operations;
    double value, cpu, wait, ready, gpu_sum, gpu_projected;
    struct dist time;
};
struct counters {
    struct counter *items;
    size_t count, room;
    struct table by_key;
};
/* The counter of a key, made when new; NULL: out of memory. */
struct counter *counter_of(struct counters *t, const char *domain, const char *name, uint32_t a,
                           uint32_t b, uint32_t c, uint32_t d);
void counters_free(struct counters *t);

#endif
