/* How a call's time stands to a copy's: both are timed in turn, and the ratios' median is given
 * with an interval by rank. What slows the machine slows both; what disturbs one call is one ratio.
 */
#ifndef TP_SUITE_STATISTICS_PAIRS_H
#define TP_SUITE_STATISTICS_PAIRS_H

#include "base/err.h"

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
