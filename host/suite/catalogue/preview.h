/* Pictures of a reconstruction beside its times: planes along three axes, and how near the middle
 * slice is to the phantom. */
#ifndef TP_SUITE_CATALOGUE_PREVIEW_H
#define TP_SUITE_CATALOGUE_PREVIEW_H

#include "host/suite/catalogue/state.h"

/* Writes folder/OPERATION.json {"operation", "size", "slice", "rmse", "low", "high", "difference",
 * "bar", "psnr", "ssim"}; OPERATION-slice.png, -row.png and -column.png through the middle ([low,
 * high] from black to white, with scale bars); OPERATION-difference.png of the slice (grey: equal;
 * -difference to difference). Pictures are thinned to at most 256 pixels a side; those of an
 * earlier, smaller size are replaced. Nothing for operations that reconstruct nothing. */
enum err preview_write(struct run_state *s, int64_t size, const char *folder);

#endif
