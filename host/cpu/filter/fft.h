/* Complex float32 Fourier transforms of one length. fft.c is the only file that knows which library
 * does them. */
#ifndef TP_CPU_FILTER_FFT_H
#define TP_CPU_FILTER_FFT_H

#include <stdint.h>

#include "base/err.h"
#include "host/backend/prepare.h"

struct fft; /* a length prepared in both directions; any number of threads may use one at the same
               time */

/* Accepts any length from 1 to 2^28. May be called by several threads. The same length gives the
 * same bits on every run. ERR_MEMORY, or ERR_INTERNAL for a length outside. */
enum err fft_create(int64_t n, struct fft **out);
void fft_free(struct fft *f); /* NULL is fine */

/* out[k] = sum_j in[j] exp(-+ 2 pi i j k / n), not scaled; arrays of n pairs (re, im), aligned to
 * 64 bytes, that do not overlap. `in` keeps its contents. */
void fft_forward(const struct fft *f, const float *in, float *out);
void fft_inverse(const struct fft *f, const float *in, float *out);

#endif
