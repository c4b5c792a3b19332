/* From prepared line integrals to the volume, in memory: what `recon` does to a whole scan, to each
 * slab of one, and libtomoprof to the caller's arrays. */
#ifndef TP_SCAN_COMPUTE_H
#define TP_SCAN_COMPUTE_H

#include "host/scan/reconstruct.h"

/* Fills the context's method from its request and its model; ERR_USAGE where they do not go
 * together. */
enum err scan_choose_method(struct scan_context *c);

/* Reconstructs the context's sinogram, which changes: rings are taken out of it, and rays are
 * weighed. *volume is host memory from mem_alloc. */
enum err scan_compute(struct scan_context *c, float **volume);

/* Filter and back projection of all that there is, by the context's method: x, which `volume` gets
 * (host; x's own memory, where it lies there). `y` is written over. */
enum err scan_direct(const struct scan_context *c, struct buffer *y, struct buffer *x,
                     float *volume);

/* Bytes that weights of MBIR take, and the search for metal. */
size_t scan_weights_bytes(const struct scan_request *r, size_t sinogram, size_t volume);
/* Weights of a whole sinogram, less where rays meet metal; mem_alloc. */
enum err scan_metal_weights(struct backend *be, const struct ct_model *m, const float *sinogram,
                            float **weights);

#endif
