/* Defaults, automatic values and checks of a reconstruction problem. */
#ifndef TP_GEOM_CT_MODEL_H
#define TP_GEOM_CT_MODEL_H

#include "base/err.h"
#include "host/geom/scan.h"

/* Every field at MBIRJAX's default: pitches 1, offsets 0, ellipse mask, sharpness 1, snr_db 30, p
 * 2, q 1.2, T 1, max_overrelaxation 1.5; sizes 0, delta 0, slice_offset NAN and volume sizes 0 mean
 * "automatic". */
void ct_model_init(struct ct_model *m);

/* Fills the automatic values of m->volume from m->scan and checks everything. On ERR_INPUT the
 * sentence names the offending MBIRJAX parameter (delta_voxel, recon_shape, source_iso_dist, ...).
 *   delta = delta_channel / M, M = D/d (1 for parallel or D = INFINITY)
 *   parallel  R = ceil(Nc dc / (dy M)), C = ceil(Nc dc / (delta M)), S = rows
 *   cone      R = round(Nc (dc/dy) / M), C = round(Nc (dc/delta) / M),
 *             S = max(1, ceil((Mr dr / M + z_max - z_min) / dz)), slice_offset = (z_min + z_max) /
 * 2 Parallel demands slice_aspect == 1 and S == rows, and row and slice pitch in step
 * (round(rows*delta_row/delta/M) == rows when S is automatic). */
enum err ct_model_resolve(struct ct_model *m);

void ct_model_free(struct ct_model *m); /* angles and z_shifts */

/* Ascending pixel indices inside the region of reconstruction:
 * ((j-j0)/j0)^2 + ((i-i0)/i0)^2 <= 1, i0 = (rows-1)/2, j0 = (cols-1)/2 (float64; a size of 1
 * divides 0 by 0 and keeps nothing, as MBIRJAX does). *pixels is malloc'ed; *count may be 0. */
enum err volume_pixels_inside(const struct volume *v, int32_t **pixels, int64_t *count);

/* Evenly spaced angles start + k*range/views in float32 steps of float64 arithmetic, as
 * numpy.linspace(start, start + range, views, endpoint=False).astype(float32). malloc'ed, NULL when
 * out of memory. */
float *angles_even(double start, double range, int64_t views);

#endif
