/* Histograms in two passes. The edges are computed as numpy.linspace does, and decide. */
#include <math.h>
#include <stdlib.h>

#include "host/store/engine/histogram.h"

enum err histogram_open(struct histogram *h, int bins)
{
    *h = (struct histogram){.bins = bins, .low = INFINITY, .high = -INFINITY};
    h->edge = calloc((size_t)bins + 1, sizeof *h->edge);
    h->count = calloc((size_t)bins, sizeof *h->count);
    if (h->edge && h->count)
        return ERR_OK;
    histogram_close(h);
    return FAIL(ERR_MEMORY, "no memory left for a histogram of %d bins", bins);
}

void histogram_range(struct histogram *h, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(x[i])) {
            h->finite++;
            h->low = x[i] < h->low ? x[i] : h->low;
            h->high = x[i] > h->high ? x[i] : h->high;
        } else if (isnan(x[i])) {
            h->nan++;
        } else {
            h->plus_infinity += x[i] > 0;
            h->minus_infinity += x[i] < 0;
        }
    }
}

static double histogram_step(double low, double high, int bins)
{
    return isfinite(high - low) ? (high - low) / bins : high / bins - low / bins;
}

void histogram_edges(struct histogram *h)
{
    if (!h->finite)
        h->low = 0, h->high = 1;
    double first = h->low, last = h->high;
    if (first == last) {
        const double half = fmax(0.5, fabs(first) * 0x1p-20);
        first -= half;
        last += half;
    }
    const double step = histogram_step(first, last, h->bins);
    for (int i = 0; i < h->bins; i++) {
        volatile double way = i * step; /* rounded before it is added, on every machine */
        h->edge[i] = way + first;
    }
    h->edge[h->bins] = last;
}

void histogram_count(struct histogram *h, const double *x, int64_t n)
{
    const double first = h->edge[0], last = h->edge[h->bins];
    const double half_step = 0.5 * histogram_step(first, last, h->bins);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        const double at = half_step > 0 ? (0.5 * x[i] - 0.5 * first) / half_step : 0;
        int bin = at > 0 ? (int)fmin(at, h->bins - 1) : 0;
        while (bin > 0 && x[i] < h->edge[bin])
            bin--;
        while (bin < h->bins - 1 && x[i] >= h->edge[bin + 1])
            bin++;
        h->count[bin]++;
    }
}

void histogram_close(struct histogram *h)
{
    free(h->edge);
    free(h->count);
    h->edge = NULL;
    h->count = NULL;
}
