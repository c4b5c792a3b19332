/* Synthetic scans in host memory: phantoms, their line integrals, noise. */
#ifndef TP_RECON_SYNTHETIC_H
#define TP_RECON_SYNTHETIC_H

#include "host/backend/backend.h"
#include "host/geom/phantom.h"

/* Fills x (rows, cols, slices) with the phantom, and y (views, rows, channels) with its exact line
 * integrals, by all threads of `be`; either may be NULL. */
enum err synthetic_phantom(struct backend *be, enum phantom kind, const struct ct_model *m,
                           float *x, float *y);
/* Adds noise_begin's noise to y[0..n). */
enum err synthetic_noise(struct backend *be, double relative, uint32_t seed, float *y, int64_t n);

#endif
