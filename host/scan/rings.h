/* Removal of rings, on the sinogram. */
#ifndef TP_SCAN_RINGS_H
#define TP_SCAN_RINGS_H

#include "host/scan/steps.h"

/* If rings are to be removed, *y, (views, rows, channels) from mem_alloc, is replaced by one
 * without stripes. */
enum err scan_remove_rings(const struct scan_context *c, const struct ct_model *m, float **y);

#endif
