/* FBP, FDK and Fourier of scans that do not fit into memory: slabs of slices, each with the
 * detector rows that it needs, read, reconstructed and written one after the other. Parallel beams
 * get the same bits as all at once, cone beams the same to 1e-6. */
#ifndef TP_SCAN_SLABS_H
#define TP_SCAN_SLABS_H

#include "host/backend/backend.h"
#include "host/scan/input.h"
#include "host/recon/slabs/slab.h"

/* One slab where everything fits; else as thick ones as do, of a multiple of 64 slices where that
 * is possible: what the kernels take at a time. */
enum err scan_slabs_plan(const struct scan_request *r, const struct ct_model *m, struct slabs *out);

/* Where a scan's decoded chunks fit into half of the memory, in->keep_bytes is set aside for them,
 * and slabs get thinner: each chunk is then decoded once, and not for each slab again. */
enum err scan_slabs_keep(const struct scan_request *r, struct scan_input *in, struct slabs *plan);

/* Reconstructs into r->out; `middle` (rows, cols) gets slice slices / 2. ERR_INTERRUPTED, and no
 * file, when *r->stop becomes non-zero. */
enum err scan_slabs_run(struct backend *be, const struct scan_request *r,
                        const struct scan_input *input, const struct slabs *plan, float *middle);

/* Filter and back projection of all that there is, by the method of the request: x, which `volume`
 * gets (host; x's own memory, where it lies there). `y` is written over. */
enum err scan_slab_direct(struct backend *be, const struct scan_request *r,
                          const struct ct_model *m, struct buffer *y, struct buffer *x,
                          float *volume);

/* One slab, (rows, cols, count), mem_alloc; `input` is prepared (scan_recon_prepare). */
enum err scan_slab_volume(struct backend *be, const struct scan_request *r,
                          const struct scan_input *input, struct slab s, float **volume);

#endif
