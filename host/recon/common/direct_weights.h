/* Weights that FBP and FDK multiply with. */
#ifndef TP_RECON_COMMON_DIRECT_WEIGHTS_H
#define TP_RECON_COMMON_DIRECT_WEIGHTS_H

#include "base/err.h"
#include "host/backend/backend.h"
#include "host/geom/scan.h"

/* Scale of the ramp filter: pi/V / (delta * delta_row), for cone beams also * delta_det_row /
 * (delta_slice * M). */
double direct_scale(const struct ct_model *m);

/* Slice weights of helical scans, V / #views that see the slice, 0 where none; NULL for others
 * (malloc'ed). */
enum err direct_slice_factors(const struct ct_model *m, float **out);

/* Weights of rays that a cone-beam scan measures once in one place and twice in another. */

/* Helical: no weights of rays, each voxel is divided by how much of the turns saw it (helical.h).
 */
enum redundancy { REDUNDANCY_NONE, REDUNDANCY_PARKER, REDUNDANCY_WANG, REDUNDANCY_HELICAL };
#define REDUNDANCY_NAMES "none|parker|wang|helical"

/* Factor of each (view, channel), malloc'ed: direct_recon of y times these is FDK of
 *   Parker  a short scan, of half a turn and the fan at least and less than a turn;
 *   Wang    a full turn with a detector that reaches further on one side of the axis.
 * ERR_INPUT where the scan is neither, with its numbers. */
enum err redundancy_factors(const struct scan *s, enum redundancy kind, float **out);

/* out = y times these; they may be the same buffer. */
enum err redundancy_weigh(struct backend *be, const struct ct_model *m, enum redundancy kind,
                          const struct buffer *y, struct buffer *out);

#endif
