/* Confidence interval of a ratio of medians by resampling. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "profiler/report/compare/compare.h"

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static uint64_t next(uint64_t *state)
{ /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static double resampled_median(const double *x, int n, double *scratch, uint64_t *state)
{
    for (int i = 0; i < n; i++)
        scratch[i] = x[next(state) % (uint64_t)n];
    qsort(scratch, (size_t)n, sizeof *scratch, ascending);
    return n % 2 ? scratch[n / 2] : 0.5 * (scratch[n / 2 - 1] + scratch[n / 2]);
}

void compare_bootstrap(const double *a, int na, const double *b, int nb, int draws, double *low,
                       double *high)
{
    uint64_t state = 42;
    double *ratios = malloc((size_t)draws * sizeof *ratios);
    double *scratch = malloc((size_t)(na > nb ? na : nb) * sizeof *scratch);
    *low = *high = NAN;
    if (ratios && scratch) {
        for (int i = 0; i < draws; i++) {
            double before = resampled_median(a, na, scratch, &state);
            ratios[i] = resampled_median(b, nb, scratch, &state) / before;
        }
        qsort(ratios, (size_t)draws, sizeof *ratios, ascending);
        *low = ratios[draws / 40];
        *high = ratios[draws - 1 - draws / 40];
    }
    free(ratios);
    free(scratch);
}
