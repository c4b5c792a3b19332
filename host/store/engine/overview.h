/* Looks over a whole array in passes: its histogram, and planes of a volume. */
#ifndef TP_STORE_ENGINE_OVERVIEW_H
#define TP_STORE_ENGINE_OVERVIEW_H

#include "host/store/engine/histogram.h"
#include "host/store/store.h"

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
