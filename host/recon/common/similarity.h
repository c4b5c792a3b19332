/* How near a volume is to a reference. */
#ifndef TP_RECON_COMMON_SIMILARITY_H
#define TP_RECON_COMMON_SIMILARITY_H

#include "host/geom/scan.h"

struct quality {
    double psnr; /* dB, the peak is the reference's range; INFINITY where both are equal */
    double ssim; /* mean over all slices; NAN where they are smaller than its window */
};

/* Structural similarity as scikit-image has it: 7 x 7 windows of equal weights, sample covariance,
 * K1 0.01, K2 0.03, the range of the whole reference. */
struct quality quality_of(const struct volume *v, const float *x, const float *reference);

/* Compares one picture the same way, with the range of the whole reference. */
struct quality quality_of_image(int64_t rows, int64_t cols, const float *x, const float *reference,
                                double range);

#endif
