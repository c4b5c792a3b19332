/* A scan as line integrals: read, corrected, defects filled; and its rotation centre. */
#ifndef TP_SCAN_PROJECTIONS_H
#define TP_SCAN_PROJECTIONS_H

#include <stdint.h>

#include "base/err.h"
#include "host/store/exchange/exchange.h"

struct projections {
    int64_t views, rows, channels;
    float *sinogram;  /* (views, rows, channels), mem_alloc */
    float *angles;    /* radians, malloc */
    int64_t repaired; /* samples that had no valid -log and were filled from their neighbours */
};

/* Reads `row_count` rows (< 0: all) from row_first on, and computes -log(|I - D| / |F - D|);
 * samples where that is not finite are filled by the median of their valid 3x3 neighbours, repeated
 * until none is left. Errors: exchange_read, correct_repair. */
enum err projections_read(const struct exchange_source *source, int64_t row_first,
                          int64_t row_count, struct projections *out);
struct scan_context;
/* The same of the context's scan: with its binning, after the steps that were asked for (steps.h),
 * and its kept chunks. row_first counts from the first row that was asked for, binned. */
enum err projections_prepare(const struct scan_context *c, int64_t row_first, int64_t row_count,
                             struct projections *out);
void projections_free(struct projections *p);

/* Rotation centre (0-based channel, real number) of a scan over 180 degrees: the shift that best
 * matches the view at theta with the mirrored view at theta + pi, refined below one channel;
 * `score` in [0, 1] says how sharp the match is. ERR_INPUT when no two views lie 180 degrees apart
 * (within one step). */
enum err find_center(const struct projections *p, double *center, double *score);

/* From counts to line integrals. */

/* In place, y (views, rows, channels): counts become -log(|I - dark| / |white - dark|), NaN where
 * that is not finite. white and dark are (rows, channels). */
void correct_transmission(float *y, int64_t views, int64_t pixels, const float *white,
                          const float *dark);

/* Fills every NaN of y by the median of its valid neighbours in the 3x3 window of its view, ring by
 * ring from the border of a defect inwards; *repaired counts them. ERR_INPUT when a view has no
 * valid sample at all. */
enum err correct_repair(float *y, int64_t views, int64_t rows, int64_t channels, int64_t *repaired);

#endif
