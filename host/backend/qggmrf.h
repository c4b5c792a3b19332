/* The qGGMRF prior: gradient sum(b w(D) D) and curvature sum(b w(D)) over six neighbours,
 * D = x - neighbour, with MBIRJAX 0.7's surrogate weight
 *   w(D) = K t^(p-2) E (q/p + E) / (1 + E)^2,  E = t^(q-p),  K = T^(p-2) / sigma_x^2,
 *   t = max(|D| / (T sigma_x), 2^-23).
 * Compiles as C17 and as CUDA C++17. */
#ifndef TP_BACKEND_QGGMRF_H
#define TP_BACKEND_QGGMRF_H

#include "base/err.h"

struct regularisation;

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

/* ERR_INPUT for parameters outside of what the polynomials of the kernels serve. */
enum err qggmrf_init(const struct regularisation *r, struct qggmrf *q);

/* Counts the operations of a voxel. Per neighbour difference: 24 of the logarithm, 19 per power, 10
 * around them; 5 per voxel. */
static inline double qggmrf_flops(const struct qggmrf *q)
{
    return 5 * (q->quadratic ? 53 : 72);
}

#endif
