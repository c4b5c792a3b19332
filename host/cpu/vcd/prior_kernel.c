/* qGGMRF on vectors of slices: powers by tables in registers, or logarithm and powers by minimax
 * polynomials; ends of a cylinder mirrored. */
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

/* How t is raised: by the tables below, by logarithms once, or twice. */
enum weight_form { FORM_TABLES, FORM_QUADRATIC, FORM_GENERAL };

struct prior_weights {
    const struct qggmrf *q;
    enum weight_form form;
    struct vf_window high, low;
    vf inverse;
    const float *series;
};

VEC_INLINE struct prior_weights
weights_open(const struct qggmrf *q, const struct power_tables *power, enum weight_form form)
{
    struct prior_weights w = {.q = q, .form = form};
    if (form == FORM_TABLES) {
        w.high = window_open(power->high);
        w.low = window_open(power->low);
        w.inverse = vf_load(power->inverse);
        w.series = power->series;
    }
    return w;
}

#if VEC == 16
/* t^c, 19 instructions fewer than by way of the logarithm. */
VEC_INLINE vf power_of(const struct prior_weights *w, vf t)
{
    const vi bits = (vi)t, place = bits >> 20;
    const vf mantissa = (vf)((bits & 0x7fffff) | 0x3f800000);
    const vf r = mantissa * (vf)_mm512_permutexvar_ps((__m512i)place, (__m512)w->inverse) - 1;
    const vf power = window_get(w->low, (vf)place, 0) * window_get(w->high, (vf)(bits >> 25), 0);
    const float *c = w->series;
    return power + power * (r * (c[0] + r * (c[1] + r * (c[2] + r * c[3]))));
}

/* 1 / a by an estimate of 14 bits and one of Newton's steps: the division of 16 floats keeps its
 * unit for as long as all the rest of a weight takes. */
VEC_INLINE vf reciprocal(vf a)
{
    const vf estimate = (vf)_mm512_rcp14_ps((__m512)a);
    return estimate + estimate * (1 - a * estimate);
}

/* max(|a|, least): `least` is positive. */
VEC_INLINE vf magnitude_from(vf a, vf least)
{
    return (vf)_mm512_range_ps((__m512)a, (__m512)least, 0xb);
}

VEC_INLINE vf surrogate_by_tables(const struct prior_weights *w, vf difference, float b)
{
    const struct qggmrf *q = w->q;
    const vf t = magnitude_from(difference * q->inverse, vf_set(0x1p-23f));
    const vf e = power_of(w, vf_min(t, vf_set(q->most < 0x1p104f ? q->most : 0x1p104f)));
    const vf inverse = reciprocal(1 + e);
    return b * q->scale * (e * inverse) * (1 + (q->ratio - 1) * inverse);
}
#endif

/* b w(D) */
VEC_INLINE vf surrogate(const struct prior_weights *by, vf difference, float b)
{
#if VEC == 16
    if (by->form == FORM_TABLES)
        return surrogate_by_tables(by, difference, b);
#endif
    const struct qggmrf *q = by->q;
    vf t = vf_max(vf_abs(difference) * q->inverse, vf_set(0x1p-23f)), whole, rest;
    log2_parts(vf_min(t, vf_set(q->most)), &whole, &rest);
    vf e = exp2_times(q->tail, whole, rest);
    vf inverse = 1 / (1 + e);
    vf w = (q->scale * (e * inverse)) * ((q->ratio + e) * inverse);
    if (by->form == FORM_GENERAL)
        w *= exp2_times(q->middle, whole, rest);
    return b * w;
}

/* Interfaces k = 0..slices between slices k-1 and k: curvature b w(D) and flux b w(D) D, each used
 * by the two voxels that it joins. The ends mirror: D = 0. */
VEC_INLINE void interfaces(const struct prior_weights *by, const float *x, int64_t slices,
                           float *padded, float *curvature, float *flux)
{
    padded[0] = x[0];
    memcpy(padded + 1, x, (size_t)slices * sizeof *x);
    for (int i = 0; i < PRIOR_PAD - 1; i++)
        padded[slices + 1 + i] = x[slices - 1];
    for (int64_t k = 0; k <= slices; k += VEC) {
        vf difference = vf_load(padded + k + 1) - vf_load(padded + k);
        vf w = surrogate(by, difference, by->q->b[2]);
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

VEC_INLINE void add_plane(const struct prior_weights *by, vf x, const vf *neighbour, vf *g, vf *h)
{
    for (int i = 0; i < 4; i++) {
        vf difference = x - neighbour[i];
        vf w = surrogate(by, difference, by->q->b[i / 2]);
        *g += w * difference;
        *h += w;
    }
}

VEC_INLINE void terms(const struct qggmrf *q, const struct power_tables *power, const float *x,
                      const float *const neighbour[4], int64_t slices, float *scratch, float *g,
                      float *h, enum weight_form form)
{
    const struct prior_weights by = weights_open(q, power, form);
    float *padded = scratch, *curvature = padded + slices + PRIOR_PAD;
    float *flux = curvature + slices + PRIOR_PAD;
    interfaces(&by, x, slices, padded, curvature, flux);
    for (int64_t k = 0; k < slices; k += VEC) {
        const int64_t n = slices - k;
        vf gradient = vf_load(flux + k) - vf_load(flux + k + 1);
        vf hessian = vf_load(curvature + k) + vf_load(curvature + k + 1);
        vf around[4];
        for (int i = 0; i < 4; i++)
            around[i] = n >= VEC ? vf_load(neighbour[i] + k) : load_part(neighbour[i] + k, n);
        add_plane(&by, vf_load(padded + k + 1), around, &gradient, &hessian);
        if (n >= VEC) {
            vf_store(g + k, gradient);
            vf_store(h + k, hessian);
        } else {
            memcpy(g + k, &gradient, (size_t)n * sizeof *g);
            memcpy(h + k, &hessian, (size_t)n * sizeof *h);
        }
    }
}

static void prior_cylinder(const struct qggmrf *q, const struct power_tables *power, const float *x,
                           const float *const neighbour[4], int64_t slices, float *scratch,
                           float *g, float *h)
{
    if (VEC == 16 && power)
        terms(q, power, x, neighbour, slices, scratch, g, h, FORM_TABLES);
    else if (q->quadratic)
        terms(q, power, x, neighbour, slices, scratch, g, h, FORM_QUADRATIC);
    else
        terms(q, power, x, neighbour, slices, scratch, g, h, FORM_GENERAL);
}

const struct prior_kernels ISA_NAME(prior_kernels) = {prior_cylinder};
