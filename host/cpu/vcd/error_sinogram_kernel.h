/* Element loops of VCD: a pass over the error sinogram, one detector column at a time, and what
 * happens to one cylinder of a subset. */
#ifndef TP_CPU_VCD_ERROR_SINOGRAM_KERNEL_H
#define TP_CPU_VCD_ERROR_SINOGRAM_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"

/* A cylinder's curvature of the data and prior terms; pull optional. */
struct direction_terms {
    const float *hessian, *g, *h, *pull;
    float inverse; /* 1 / sigma_y^2 */
};

struct vcd_kernels {
    /* Adds <w e, d> and <w d, d> of n elements to sums[0] and sums[1]; w NULL = ones. */
    void (*dots)(const float *w, const float *e, const float *d, int64_t n, double sums[2]);
    /* e -= alpha d, then out = w e. */
    void (*update)(const float *w, const float *d, float alpha, int64_t n, float *e, float *out);
    /* d = (pull + d / sigma_y^2 - g) / (h + hessian / sigma_y^2); adds <g, d>, <h d, d> and <d on
     * entry, d> to sums. */
    void (*direction)(const struct direction_terms *t, int64_t n, float *d, double sums[3]);
    /* x += alpha d; returns sum |alpha d|. */
    double (*add)(float alpha, const float *d, int64_t n, float *x);
};
ISA_TABLES(vcd_kernels);

#endif
