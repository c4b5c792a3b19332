/* Removal of rings, on the sinogram. */
#ifndef TP_SCAN_RINGS_H
#define TP_SCAN_RINGS_H

#include "host/backend/backend.h"
#include "host/geom/scan.h"
#include "host/scan/steps.h"

/* *y, (views, rows, channels) from mem_alloc, is replaced by one without stripes. */
enum err scan_remove_rings(struct backend *be, const struct ct_model *m, enum scan_rings how,
                           struct scan_steps *steps, float **y);

#endif
