/* From counts to line integrals. */
#ifndef TP_SCAN_CORRECT_H
#define TP_SCAN_CORRECT_H

#include <stdint.h>

#include "base/err.h"

/* In place, y (views, rows, channels): counts become -log(|I - dark| / |white - dark|), NaN where
 * that is not finite. white and dark are (rows, channels). */
void correct_transmission(float *y, int64_t views, int64_t pixels, const float *white,
                          const float *dark);

/* Fills every NaN of y by the median of its valid neighbours in the 3x3 window of its view, ring by
 * ring from the border of a defect inwards; *repaired counts them. ERR_INPUT when a view has no
 * valid sample at all. */
enum err correct_repair(float *y, int64_t views, int64_t rows, int64_t channels, int64_t *repaired);

#endif
