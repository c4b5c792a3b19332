/* The steps on volumes once more, in float64 and one voxel at a time, as NumPy and SciPy define
 * them: nanmean and nanstd, zoom with grid_mode, rot90, flip. */
#ifndef TP_TESTS_OPERATORS_TWIN_VOLUME_H
#define TP_TESTS_OPERATORS_TWIN_VOLUME_H

#include "host/backend/volume.h"

/* Computes values before a conversion to another type. */
void twin_volume(const struct volume_step *s, const float *in, double *out);
/* Returns the value of element i as stored in that type. */
double twin_volume_value(enum volume_dtype t, const void *array, int64_t i);
/* Returns the nearest value of that type, to even between two, saturated. */
double twin_volume_cast(enum volume_dtype t, double x);

#endif
