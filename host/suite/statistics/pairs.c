/* Ratios of pairs: the order statistics that hold their median. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/suite/statistics/pairs.h"

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
