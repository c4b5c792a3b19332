/* qGGMRF on vectors of slices: logarithm and powers by minimax polynomials, ends of a cylinder
 * mirrored. */
#include "host/cpu/vcd/vcd.h"
#include "host/cpu/common/vec.h"

/* t = 2^whole * (1 + u) with 1 + u in [sqrt(1/2), sqrt(2)): whole and log2(1 + u). The minimax
 * polynomial u P7(u) is off by 4.8e-8 at most. t is positive and normal. */
VEC_INLINE void log2_parts(vf t, vf *whole, vf *rest)
{
    const int32_t root_half = 0x3f3504f3;
    vi exponent = ((vi)t - root_half) >> 23;
    vf u = (vf)((vi)t - (exponent << 23)) - 1;
    vf p = u * -0.14575764537f + 0.23688253760f;
    p = p * u - 0.25006118417f;
    p = p * u + 0.28670853376f;
    p = p * u - 0.36008810997f;
    p = p * u + 0.48093938828f;
    p = p * u - 0.72135710716f;
    p = p * u + 1.44269478321f;
    *whole = __builtin_convertvector(exponent, vf);
    *rest = p * u;
}

/* 2^(c * (whole + rest)) for results within 2^-126 .. 2^126; minimax P5 on [-1/2, 1/2], off by
 * 7.5e-8. */
VEC_INLINE vf exp2_times(struct split_exponent c, vf whole, vf rest)
{
    vf high = c.high * whole, low = c.low * whole + (c.high + c.low) * rest;
    vf biased = high + low + VF_INDEX_BIAS;
    vi n = (vi)biased - (vi)vf_set(VF_INDEX_BIAS);
    vf r = (high - (biased - VF_INDEX_BIAS)) + low;
    vf p = r * 0.00132764725f + 0.00967554096f;
    p = p * r + 0.05550713092f;
    p = p * r + 0.24022120237f;
    p = p * r + 0.69314694405f;
    p = p * r + 1.00000012f;
    return (vf)((vi)p + (n << 23));
}

VEC_INLINE vf vf_abs(vf a)
{
    return (vf)((vi)a & 0x7fffffff);
}

VEC_INLINE vf surrogate(const struct qggmrf *q, vf difference, int quadratic)
{
    vf t = vf_max(vf_abs(difference) * q->inverse, vf_set(0x1p-23f)), whole, rest;
    log2_parts(vf_min(t, vf_set(q->most)), &whole, &rest);
    vf e = exp2_times(q->tail, whole, rest);
    vf inverse = 1 / (1 + e);
    vf w = (q->scale * (e * inverse)) * ((q->ratio + e) * inverse);
    if (!quadratic)
        w *= exp2_times(q->middle, whole, rest);
    return w;
}

/* Interfaces k = 0..slices between slices k-1 and k: curvature b w(D) and flux b w(D) D, each used
 * by the two voxels that it joins. The ends mirror: D = 0. */
VEC_INLINE void interfaces(const struct qggmrf *q, const float *x, int64_t slices, float *padded,
                           float *curvature, float *flux, int quadratic)
{
    padded[0] = x[0];
    memcpy(padded + 1, x, (size_t)slices * sizeof *x);
    for (int i = 0; i < PRIOR_PAD - 1; i++)
        padded[slices + 1 + i] = x[slices - 1];
    for (int64_t k = 0; k <= slices; k += VEC) {
        vf difference = vf_load(padded + k + 1) - vf_load(padded + k);
        vf w = q->b[2] * surrogate(q, difference, quadratic);
        vf_store(curvature + k, w);
        vf_store(flux + k, w * difference);
    }
}

VEC_INLINE vf load_part(const float *p, int64_t n)
{
    vf v = {0};
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

VEC_INLINE void add_plane(const struct qggmrf *q, vf x, const vf *neighbour, vf *g, vf *h,
                          int quadratic)
{
    for (int i = 0; i < 4; i++) {
        vf difference = x - neighbour[i];
        vf w = q->b[i / 2] * surrogate(q, difference, quadratic);
        *g += w * difference;
        *h += w;
    }
}

VEC_INLINE void terms(const struct qggmrf *q, const float *x, const float *const neighbour[4],
                      int64_t slices, float *scratch, float *g, float *h, int quadratic)
{
    float *padded = scratch, *curvature = padded + slices + PRIOR_PAD;
    float *flux = curvature + slices + PRIOR_PAD;
    interfaces(q, x, slices, padded, curvature, flux, quadratic);
    for (int64_t k = 0; k < slices; k += VEC) {
        const int64_t n = slices - k;
        vf gradient = vf_load(flux + k) - vf_load(flux + k + 1);
        vf hessian = vf_load(curvature + k) + vf_load(curvature + k + 1);
        vf around[4];
        for (int i = 0; i < 4; i++)
            around[i] = n >= VEC ? vf_load(neighbour[i] + k) : load_part(neighbour[i] + k, n);
        add_plane(q, vf_load(padded + k + 1), around, &gradient, &hessian, quadratic);
        if (n >= VEC) {
            vf_store(g + k, gradient);
            vf_store(h + k, hessian);
        } else {
            memcpy(g + k, &gradient, (size_t)n * sizeof *g);
            memcpy(h + k, &hessian, (size_t)n * sizeof *h);
        }
    }
}

static void prior_cylinder(const struct qggmrf *q, const float *x, const float *const neighbour[4],
                           int64_t slices, float *scratch, float *g, float *h)
{
    if (q->quadratic)
        terms(q, x, neighbour, slices, scratch, g, h, 1);
    else
        terms(q, x, neighbour, slices, scratch, g, h, 0);
}

const struct prior_kernels ISA_NAME(prior_kernels) = {prior_cylinder};
