/* SART, one pass over the views as scikit-image's iradon_sart makes it: each view corrects the image by
 * what its rays miss of its samples. Contract of the model: docs/internals/operations.md. */
#ifndef TP_CPU_SART_SART_H
#define TP_CPU_SART_SART_H

#include "host/backend/backend.h"

/* Beyond, an index of the image does not fit 32 bits. */
#define SART_MOST_CHANNELS 32767

struct sart_plan {
    int64_t views, rows, channels;
    const double *angles; /* radians, of each view */
    const double *shifts; /* channels by which a view's samples lie further; NULL: 0 */
    const int64_t *order; /* views, in the order in which they are used */
    int64_t steps;        /* how many `order` has */
    double relaxation, low, high;
    int wide; /* 1: arrays and arithmetic are float64, else float32 */
};

/* y: (views, rows, channels). x: (channels, channels, rows), the estimate before and after. The same
 * bits for any number of threads. */
enum err cpu_sart(struct backend *be, const struct sart_plan *p, const void *y, void *x);

#endif
