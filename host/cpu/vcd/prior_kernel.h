/* qGGMRF terms of one cylinder: gradient sum(b w(D) D) and curvature sum(b w(D)) over its six
 * neighbours, D = x - neighbour, with MBIRJAX 0.7's surrogate weight
 *   w(D) = K t^(p-2) E (q/p + E) / (1 + E)^2,  E = t^(q-p),  K = T^(p-2) / sigma_x^2,
 *   t = max(|D| / (T sigma_x), 2^-23). */
#ifndef TP_CPU_VCD_PRIOR_KERNEL_H
#define TP_CPU_VCD_PRIOR_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"

#define PRIOR_PAD 32 /* floats that a scratch row is longer than the cylinder */

/* An exponent as high (at most 12 significant bits) + low: high times a float's exponent (8 bits)
 * is exact, which keeps t^exponent to a few 1e-7 without fused multiply-adds. */
struct split_exponent {
    float high, low;
};

struct qggmrf {
    float scale, ratio;  /* K, q/p */
    float inverse, most; /* 1 / (T sigma_x); t is kept below `most`: E stays normal */
    struct split_exponent tail, middle; /* q - p and p - 2 */
    int quadratic;                      /* p == 2: t^(p-2) is 1 */
    float b[3];                         /* weight of one neighbour along rows, columns, slices */
};

struct prior_kernels {
    /* x: the cylinder; neighbour: those at row+1, row-1, col+1, col-1 (x itself beyond the grid);
     * scratch: 3 rows of slices + PRIOR_PAD floats; g, h: [slices], overwritten. */
    void (*cylinder)(const struct qggmrf *q, const float *x, const float *const neighbour[4],
                     int64_t slices, float *scratch, float *g, float *h);
};
ISA_TABLES(prior_kernels);

#endif
