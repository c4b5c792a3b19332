/* Opens the input of a reconstruction: a scan of any format, or a sinogram with its geometry
 * file. */
#ifndef TP_SCAN_INPUT_H
#define TP_SCAN_INPUT_H

#include "host/scan/reconstruct.h"

/* Reads headers only: the model's sizes without its angles where they come from the scan, to judge
 * the memory. */
enum err scan_input_plan(struct scan_context *c);
/* Then the rest: data, corrections, centre. */
enum err scan_input_read(struct scan_context *c);

/* For work in slabs, instead of scan_input_read: what is there to know but the data. The centre is
 * found on the middle 32 rows. */
enum err scan_input_prepare(struct scan_context *c);
/* Then rows [first, first + count) of the model's: (views, count, channels), mem_alloc. Copied
 * where the context's sinogram has them. */
enum err scan_input_rows(const struct scan_context *c, int64_t first, int64_t count,
                         float **sinogram);
/* Rows that are read on either side beyond those: defects are filled from their neighbours. */
int64_t scan_input_halo(const struct scan_request *r);

#endif
