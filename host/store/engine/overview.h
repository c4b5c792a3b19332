/* Looks over a whole array in passes: its histogram, and planes of a volume. */
#ifndef TP_STORE_ENGINE_OVERVIEW_H
#define TP_STORE_ENGINE_OVERVIEW_H

#include <stdint.h>

#include "base/err.h"
#include "host/store/store.h"

/* Counts of values in bins of one width, exactly those of numpy.histogram: a bin holds its lower
 * edge, the last one both. Values that are not finite are counted apart. */

#define HISTOGRAM_BINS_MOST 65536

struct histogram {
    int bins;
    double low, high; /* of the finite values; 0 and 1 where there are none */
    int64_t finite, nan, minus_infinity, plus_infinity;
    double *edge;   /* bins + 1 */
    int64_t *count; /* bins */
};

/* Then all values twice: first histogram_range, and after histogram_edges histogram_count. */
enum err histogram_open(struct histogram *h, int bins);
void histogram_range(struct histogram *h, const double *x, int64_t n);
/* Sets the edges from low to high. Where all values are equal, half a unit to either side, and a
 * millionth of a very large value. */
void histogram_edges(struct histogram *h);
void histogram_count(struct histogram *h, const double *x, int64_t n);
void histogram_close(struct histogram *h); /* a zeroed one is fine */

/* A plane of an array of three dimensions. */
struct section {
    int down, across; /* dimensions of the array along rows and columns of the plane */
    int64_t index;    /* along the third */
    float *values;    /* the caller's */
};

/* h: of histogram_open, or NULL. ERR_INPUT where the values are not real numbers. */
enum err overview_read(struct store *s, struct store_array *a, struct histogram *h,
                       struct section *section, int sections);

#endif
