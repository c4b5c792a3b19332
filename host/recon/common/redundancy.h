/* Weights of rays that a cone-beam scan measures once in one place and twice in another. */
#ifndef TP_RECON_REDUNDANCY_H
#define TP_RECON_REDUNDANCY_H

#include "host/backend/backend.h"
#include "host/geom/scan.h"

/* Helical: no weights of rays, each voxel is divided by how much of the turns saw it (helical.h).
 */
enum redundancy { REDUNDANCY_NONE, REDUNDANCY_PARKER, REDUNDANCY_WANG, REDUNDANCY_HELICAL };

/* Factor of each (view, channel), malloc'ed: direct_recon of y times these is FDK of
 *   Parker  a short scan, of half a turn and the fan at least and less than a turn;
 *   Wang    a full turn with a detector that reaches further on one side of the axis.
 * ERR_INPUT where the scan is neither, with its numbers. */
enum err redundancy_factors(const struct scan *s, enum redundancy kind, float **out);

/* out = y times these; they may be the same buffer. */
enum err redundancy_weigh(struct backend *be, const struct ct_model *m, enum redundancy kind,
                          const struct buffer *y, struct buffer *out);

#endif
