/* Iterative reconstruction once more, in float64 and without any shortcut: NumPy's generator,
 * partitions, automatic regularisation, qGGMRF terms and VCD of MBIRJAX 0.7. */
#ifndef TP_TESTS_OPERATORS_TWIN_MBIR_H
#define TP_TESTS_OPERATORS_TWIN_MBIR_H

#include <stdint.h>

#include "host/geom/scan.h"

/* numpy.random.seed(seed), and the rows of gen_pixel_partition drawn from it: `subsets` rows of
 * ceil(count / subsets) ascending pixels (subsets <= count) into out. */
struct twin_rng {
    uint32_t key[624];
    int position;
};
void twin_seed(struct twin_rng *r, uint32_t seed);
void twin_partition(struct twin_rng *r, const int32_t *pixels, int64_t count, int64_t subsets,
                    int32_t *out);

/* sigma_y, sigma_x and sigma_prox from y and w (NULL = ones), rounded to float32. */
void twin_auto_regularise(const struct ct_model *m, const double *y, const double *w,
                          struct regularisation *out);

/* Gradient and curvature of the qGGMRF prior at `count` pixels of x, packed (count, slices). */
void twin_prior(const struct volume *v, const struct regularisation *r, const int32_t *pixels,
                int64_t count, const double *x, double *gradient, double *curvature);

/* `iterations` (<= 16) iterations from the scaled direct reconstruction; x is zero outside
 * `pixels`. The regularisation is used as it stands in m. */
struct twin_report {
    double initial_scale, fm_rmse[16], change_percent[16], alpha[16];
};
void twin_mbir(const struct ct_model *m, const int32_t *pixels, int64_t count, const double *y,
               const double *w, int iterations, uint32_t seed, double *x, struct twin_report *out);

#endif
