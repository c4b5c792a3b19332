/* How far from a voxel's projected centre MBIRJAX looks for detector cells, and back. */
#ifndef TP_GEOM_WINDOWS_H
#define TP_GEOM_WINDOWS_H

#include "host/geom/scan.h"

/* Taps lie within +-back of the rounded centre (channels in both directions, rows in back
 * projection) and, for cone beams, within +-forward slices of the slice that a detector row looks
 * at in forward projection: back    = ceil(ceil(max pitch of a voxel * D/(d - rho) / min pitch of
 * the detector) / 2) forward = ceil(ceil(min pitch of the detector / (D/(d + rho) * min pitch of a
 * voxel)) / 2) with rho half the larger side of the volume; parallel: back = ceil(ceil(max(delta,
 * delta_row) / delta_channel) / 2), forward unused.
 *
 * The windows clip real overlaps where a detector row spans more than 2*forward slices (rows at
 * least twice as tall as channels are wide: forward projection then loses signal and is not the
 * transpose of back projection) and in unmasked corners near the source. Equal results need equal
 * windows, so they are kept. */
struct tap_windows {
    int back, forward;
};
struct tap_windows tap_windows(const struct scan *s, const struct volume *v);

/* Largest and smallest number of detector rows that one slice spans, over all pixels (1, 1 for
 * parallel). The largest is bounded where a corner passes the source. */
void rows_per_slice(const struct scan *s, const struct volume *v, double *least, double *most);

/* Returns the magnification of the pixel nearest to the source (largest) and farthest from it, at
 * any angle; 1 for parallel beams; at most 1e6. */
void magnification_range(const struct scan *s, const struct volume *v, double *least, double *most);

#endif
