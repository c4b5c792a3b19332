/* Count, sum, extremes, deviation and quantiles of many durations in little memory: exact up to
 * DIST_EXACT values, then a histogram of 32 steps per octave (quantiles within 2 %). */
#ifndef TP_ANALYZE_COMMON_DIST_H
#define TP_ANALYZE_COMMON_DIST_H

#include <stdint.h>

#include "base/err.h"

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

#endif
