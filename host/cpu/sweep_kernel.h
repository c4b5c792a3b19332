/* Element loops of a sweep over the error sinogram, one detector column at a time. */
#ifndef TP_CPU_SWEEP_KERNEL_H
#define TP_CPU_SWEEP_KERNEL_H

#include <stdint.h>

#include "host/cpu/isa.h"

struct sweep_kernels {
    /* Adds <w e, d> and <w d, d> of n elements to sums[0] and sums[1]; w NULL = ones. */
    void (*dots)(const float *w, const float *e, const float *d, int64_t n, double sums[2]);
    /* e -= alpha d, then out = w e. */
    void (*update)(const float *w, const float *d, float alpha, int64_t n, float *e, float *out);
};
ISA_TABLES(sweep_kernels);

#endif
