/* FDK of a helical scan: every voxel is divided by how much of the turns has seen it. */
#ifndef TP_RECON_HELICAL_H
#define TP_RECON_HELICAL_H

#include "host/backend/backend.h"
#include "host/geom/scan.h"

/* Filters y into scratch (may be y) and back projects that into x, which then wants the factors:
 * one of each voxel on the host, from mem_alloc; 0 where no view sees it. Direct_recon has a factor
 * for each slice instead, as MBIRJAX. ERR_USAGE where the scan is not helical. */
enum err helical_back(struct backend *be, const struct ct_model *m, int voxel_driven,
                      const struct buffer *y, struct buffer *scratch, struct buffer *x,
                      float **factors);

#endif
