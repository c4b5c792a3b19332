/* Weights that FBP and FDK multiply with. */
#ifndef TP_RECON_COMMON_DIRECT_WEIGHTS_H
#define TP_RECON_COMMON_DIRECT_WEIGHTS_H

#include "base/err.h"
#include "host/geom/scan.h"

/* Scale of the ramp filter: pi/V / (delta * delta_row), for cone beams also * delta_det_row /
 * (delta_slice * M). */
double direct_scale(const struct ct_model *m);

/* Slice weights of helical scans, V / #views that see the slice, 0 where none; NULL for others
 * (malloc'ed). */
enum err direct_slice_factors(const struct ct_model *m, float **out);

#endif
