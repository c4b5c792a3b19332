/* qGGMRF terms of one cylinder; host/backend/qggmrf.h has the formula. */
#ifndef TP_CPU_VCD_PRIOR_KERNEL_H
#define TP_CPU_VCD_PRIOR_KERNEL_H

#include <stdint.h>

#include "host/backend/qggmrf.h"
#include "host/cpu/common/isa.h"

#define PRIOR_PAD 32 /* floats that a scratch row is longer than the cylinder */

struct prior_kernels {
    /* x: the cylinder; neighbour: those at row+1, row-1, col+1, col-1 (x itself beyond the grid);
     * scratch: 3 rows of slices + PRIOR_PAD floats; g, h: [slices], overwritten. */
    void (*cylinder)(const struct qggmrf *q, const float *x, const float *const neighbour[4],
                     int64_t slices, float *scratch, float *g, float *h);
};
ISA_TABLES(prior_kernels);

#endif
