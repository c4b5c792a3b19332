/* What is reconstructed: a scan of any format, or a sinogram with its geometry file. */
#ifndef TP_SCAN_INPUT_H
#define TP_SCAN_INPUT_H

#include <stddef.h>

#include "base/err.h"
#include "host/geom/scan.h"
#include "host/scan/reconstruct.h"

/* Reads headers only: the model's sizes without its angles where they come from the scan, to judge
 * the memory. */
enum err scan_input_plan(const struct scan_request *r, struct scan_input *out);
/* Then the rest: data, corrections, centre. */
enum err scan_input_read(const struct scan_request *r, struct scan_input *out);

/* For work in slabs, instead of scan_input_read: what is there to know but the data. The centre is
 * found on the middle 32 rows. */
enum err scan_input_prepare(const struct scan_request *r, struct scan_input *out);
/* Then rows [first, first + count) of the model's: (views, count, channels), mem_alloc. Copied
 * where in->sinogram has them. */
enum err scan_input_rows(const struct scan_request *r, const struct scan_input *in, int64_t first,
                         int64_t count, float **sinogram);
/* Rows that are read on either side beyond those: defects are filled from their neighbours. */
int64_t scan_input_halo(const struct scan_request *r);

void scan_input_free(struct scan_input *i);

#endif
