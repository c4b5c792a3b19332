/* The operators once more, in float64, one plain loop nest each, written from the formulas of
 * MBIRJAX 0.7: slow, and simple enough to be checked by eye. Arrays have the shapes of
 * host/geom/scan.h. Angles and shifts are the float32 ones of the scan; everything computed from
 * them is float64. */
#ifndef TP_TESTS_OPERATORS_TWIN_H
#define TP_TESTS_OPERATORS_TWIN_H

#include <stdint.h>

#include "host/geom/scan.h"

/* y = A x over `count` pixels (NULL: all); x is a volume array. */
void twin_forward(const struct ct_model *m, const int32_t *pixels, int64_t count, const double *x,
                  double *y);
/* x[pixels] = A' (w y) with the entries of A raised to `power`; w or y NULL = ones. Other pixels of
 * the volume array x are left alone. */
void twin_back(const struct ct_model *m, const int32_t *pixels, int64_t count, const double *y,
               const double *w, int power, double *x);
/* Returns 1 if A' as above is the transpose of A: no vertical tap window cuts off an entry of one
 * of `count` pixels in one direction only. */
int twin_is_adjoint(const struct ct_model *m, const int32_t *pixels, int64_t count);

/* FBP or FDK filter, and the direct reconstruction (0 outside `pixels`). */
void twin_filter(const struct ct_model *m, const double *y, double *out);
void twin_direct_recon(const struct ct_model *m, const int32_t *pixels, int64_t count,
                       const double *y, double *x);

/* 3x3x3 median with replicated edges. */
void twin_median(int64_t rows, int64_t cols, int64_t slices, const float *in, float *out);

#endif
