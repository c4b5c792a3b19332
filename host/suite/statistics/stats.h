/* Statistics of repeated timings, and what they mean against the machine's ceilings. */
#ifndef TP_SUITE_STATISTICS_STATS_H
#define TP_SUITE_STATISTICS_STATS_H

#include "base/err.h"
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

/* How a call's time stands to a copy's: both are timed in turn, and the ratios' median is given
 * with an interval by rank. What slows the machine slows both; what disturbs one call is one ratio.
 */

#define PAIRS_LEAST 9    /* the least and the largest of eight hold the median at 99 % */
#define PAIRS_MOST  1000 /* 2^-PAIRS_MOST must be a float64 */

/* The copy's seconds over the call's. low and high hold the median in 99 of 100 series, if pairs do
 * not depend on each other. n = 0: unknown. */
struct pair_share {
    int n;
    double median, low, high;
};
/* Judges nothing with fewer than PAIRS_LEAST: the interval is 0 to infinity. Sorts the ratios. */
struct pair_share pair_share_of(double *ratios, int n);

/* Pairs until `enough` says so or PAIRS_MOST are there. It is asked from PAIRS_LEAST on, each time
 * that there are half as many more: who asks after each pair finds by chance what is not there. */
struct pair_source {
    void *context;
    enum err (*next)(void *context, double *copy, double *call);
    int (*enough)(void *context, const struct pair_share *share);
};
enum err pairs_gather(const struct pair_source *source, struct pair_share *out);

/* Joins several processes: the middle one of their medians, and an interval that holds all of
 * theirs. All zero at first; more than PAIR_PROCESSES are passed over. */
#define PAIR_PROCESSES 3
struct pairs_joined {
    int count;
    double medians[PAIR_PROCESSES];
    struct pair_share share;
};
void pairs_join(struct pairs_joined *all, const struct pair_share *one);

#endif
