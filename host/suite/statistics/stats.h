/* Statistics of repeated timings, and what they mean against the machine's ceilings. */
#ifndef TP_SUITE_STATISTICS_STATS_H
#define TP_SUITE_STATISTICS_STATS_H

#include "host/backend/backend.h"

/* Seconds; NAN where n says that it cannot be known (everything at n = 0, cv at n = 1). p95
 * interpolates linearly between order statistics; cv is the sample standard deviation over the
 * mean. */
struct statistics {
    int n;
    double min, median, mean, p95, cv;
};
struct statistics statistics_of(const double *seconds, int n);

/* Rates at the median time. Work of 0 means undeclared: its rate is NAN. roof_share is the larger
 * of the two shares (arithmetic, bytes) of the measured peak. Above 1.05 of it a number cannot be
 * true (5 %: spread of the calibration itself), and `implausible` is 1. */
struct rates {
    double gflops, gbytes_per_s, roof_share, updates_per_s;
    int implausible;
};
struct rates rates_of(double seconds, const struct work *work, double updates,
                      const struct peak *peak);

/* Growth of time with the edge N of the volume: t = a + b N^p. a, b >= 0, 0 <= p <= FIT_P_MAX; NAN where unknown, and `reason` then says why (else NULL). r2 is
 * the share of the variance of t explained. Residuals are relative to t (times span decades, each
 * size counts the same). */
struct fit {
    double a, b, p, r2;
    int sizes;
    const char *reason;
};

#define FIT_P_MAX 8

/* size[i] > 0 ascending and distinct, seconds[i] > 0. Needs 3 sizes. */
struct fit fit_power(const double *size, const double *seconds, int n);

#endif
