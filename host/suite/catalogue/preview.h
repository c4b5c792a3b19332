/* A picture of a reconstruction beside its times: the middle slice and its difference to the
 * phantom. */
#ifndef TP_SUITE_CATALOGUE_PREVIEW_H
#define TP_SUITE_CATALOGUE_PREVIEW_H

#include "host/suite/catalogue/state.h"

/* Writes folder/OPERATION.json {"operation", "size", "slice", "rmse", "low", "high", "difference"},
 * OPERATION-slice.png
 * ([low, high] from black to white) and OPERATION-difference.png (grey: equal; -difference to
 * difference), thinned to at most 256 pixels a side; those of an earlier, smaller size are
 * replaced. Nothing for operations
 * that reconstruct nothing. */
enum err preview_write(struct run_state *s, int64_t size, const char *folder);

#endif
