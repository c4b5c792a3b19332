/* FBP, FDK and Fourier of scans that do not fit into memory: slabs of slices, each with the
 * detector rows that it needs, read, reconstructed and written one after the other. Parallel beams
 * get the same bits as all at once, cone beams the same to 1e-6. */
#ifndef TP_SCAN_SLABS_H
#define TP_SCAN_SLABS_H

#include "host/scan/input.h"

/* Plans one slab where everything fits; else as thick ones as do, of a multiple of 64 slices where
 * that is possible: what the kernels take at a time. */
enum err scan_slabs_plan(struct scan_context *c);

/* If a scan's decoded chunks fit into half of the memory, keep_bytes is set aside for them, and
 * slabs get thinner: each chunk is then decoded once, and not for each slab again. */
enum err scan_slabs_keep(struct scan_context *c);

/* Reconstructs into the request's volume; `middle` (rows, cols) gets slice slices / 2.
 * ERR_INTERRUPTED, and no file, when *stop becomes non-zero. */
enum err scan_slabs_run(struct scan_context *c, float *middle);

/* Computes one slab, (rows, cols, count), mem_alloc, of a prepared context (scan_recon_prepare). */
enum err scan_slab_volume(const struct scan_context *c, struct slab s, float **volume);

#endif
