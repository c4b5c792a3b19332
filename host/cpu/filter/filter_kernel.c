/* Two vectors of rows at a time: point j of the transform is a vector of real parts (first half of
 * the rows) and one of imaginary parts (second half), so that a transform of VEC pairs of rows is
 * arithmetic on whole vectors without a shuffle. The spectrum is real and even: neither half mixes
 * with the other.
 *
 * The transform goes depth first: one pass over n points, of radix 4 or 3 or 5 (decimation in
 * frequency), then each part from its forward passes over the product with the spectrum to its
 * inverse passes (decimation in time) while it lies in the nearest cache, then the inverse pass
 * over n. The result of the forward half never needs to be put in order: the spectrum is stored in
 * the order in which it arises. */
#include "host/cpu/filter/ramp.h"
#include "host/cpu/common/vec_stream.h"

struct complex_vf {
    vf re, im;
};

VEC_INLINE struct complex_vf add(struct complex_vf a, struct complex_vf b)
{
    return (struct complex_vf){a.re + b.re, a.im + b.im};
}

VEC_INLINE struct complex_vf sub(struct complex_vf a, struct complex_vf b)
{
    return (struct complex_vf){a.re - b.re, a.im - b.im};
}

/* a + i b, a - i b */
VEC_INLINE struct complex_vf add_i(struct complex_vf a, struct complex_vf b)
{
    return (struct complex_vf){a.re - b.im, a.im + b.re};
}

VEC_INLINE struct complex_vf sub_i(struct complex_vf a, struct complex_vf b)
{
    return (struct complex_vf){a.re + b.im, a.im - b.re};
}

/* a w and a conj(w), w = (cos, -sin) at w[0], w[1] */
VEC_INLINE struct complex_vf times(struct complex_vf a, const float *w)
{
    return (struct complex_vf){a.re * w[0] - a.im * w[1], a.im * w[0] + a.re * w[1]};
}

VEC_INLINE struct complex_vf times_conjugate(struct complex_vf a, const float *w)
{
    return (struct complex_vf){a.re * w[0] + a.im * w[1], a.im * w[0] - a.re * w[1]};
}

/* `padded`: the upper half of x is 0 on entry and not wanted on return: the outermost pass, since n
 * >= 2 channels. */
VEC_INLINE void forward_pass(struct complex_vf *x, int64_t quarter, const float *w, int padded)
{
    struct complex_vf *x1 = x + quarter, *x2 = x1 + quarter, *x3 = x2 + quarter;
    for (int64_t j = 0; j < quarter; j++, w += 6) {
        struct complex_vf a = padded ? x[j] : add(x[j], x2[j]), b = padded ? a : sub(x[j], x2[j]);
        struct complex_vf c = padded ? x1[j] : add(x1[j], x3[j]),
                          d = padded ? c : sub(x1[j], x3[j]);
        x[j] = add(a, c);
        x1[j] = times(sub_i(b, d), w);
        x2[j] = times(sub(a, c), w + 2);
        x3[j] = times(add_i(b, d), w + 4);
    }
}

VEC_INLINE void inverse_pass(struct complex_vf *x, int64_t quarter, const float *w, int padded)
{
    struct complex_vf *x1 = x + quarter, *x2 = x1 + quarter, *x3 = x2 + quarter;
    for (int64_t j = 0; j < quarter; j++, w += 6) {
        struct complex_vf y1 = times_conjugate(x1[j], w), y2 = times_conjugate(x2[j], w + 2),
                          y3 = times_conjugate(x3[j], w + 4);
        struct complex_vf a = add(x[j], y2), b = sub(x[j], y2), c = add(y1, y3), d = sub(y1, y3);
        x[j] = add(a, c);
        x1[j] = add_i(b, d);
        if (padded)
            continue;
        x2[j] = sub(a, c);
        x3[j] = sub_i(b, d);
    }
}

VEC_INLINE struct complex_vf scaled(struct complex_vf a, float s)
{
    return (struct complex_vf){a.re * s, a.im * s};
}

/* There and back at 4 points. */
VEC_INLINE void filter_4(struct complex_vf x[4], const float *spectrum)
{
    struct complex_vf a = add(x[0], x[2]), b = sub(x[0], x[2]), c = add(x[1], x[3]),
                      d = sub(x[1], x[3]);
    struct complex_vf y0 = scaled(add(a, c), spectrum[0]), y1 = scaled(sub_i(b, d), spectrum[1]);
    struct complex_vf y2 = scaled(sub(a, c), spectrum[2]), y3 = scaled(add_i(b, d), spectrum[3]);
    a = add(y0, y2), b = sub(y0, y2), c = add(y1, y3), d = sub(y1, y3);
    x[0] = add(a, c);
    x[1] = add_i(b, d);
    x[2] = sub(a, c);
    x[3] = sub_i(b, d);
}

/* 8 points: a radix-2 pass, twice 4 points, a radix-2 pass. */
VEC_INLINE void filter_8(struct complex_vf x[8], const float *w, const float *spectrum)
{
    struct complex_vf low[4], high[4];
    for (int j = 0; j < 4; j++) {
        low[j] = add(x[j], x[j + 4]);
        high[j] = times(sub(x[j], x[j + 4]), w + 2 * j);
    }
    filter_4(low, spectrum);
    filter_4(high, spectrum + 4);
    for (int j = 0; j < 4; j++) {
        high[j] = times_conjugate(high[j], w + 2 * j);
        x[j] = add(low[j], high[j]);
        x[j + 4] = sub(low[j], high[j]);
    }
}

static void filter_n(struct complex_vf *x, int64_t n, const float *w, const float *spectrum);

VEC_INLINE void filter_quarters(struct complex_vf *x, int64_t n, const float *w,
                                const float *spectrum, int padded)
{
    const int64_t quarter = n / 4;
    forward_pass(x, quarter, w, padded);
    for (int q = 0; q < 4; q++)
        filter_n(x + q * quarter, quarter, w + 6 * quarter, spectrum + q * quarter);
    inverse_pass(x, quarter, w, padded);
}

static void filter_n(struct complex_vf *x, int64_t n, const float *w, const float *spectrum)
{
    if (n == 4)
        filter_4(x, spectrum);
    else if (n == 8)
        filter_8(x, w, spectrum);
    else
        filter_quarters(x, n, w, spectrum, 0);
}

/* A pass of any radix, for 3 and 5: n points are `radix` parts, of which all but the first
 * (radix + 1) / 2 are 0 and not wanted, since n >= 2 channels - 1. `root`: radix-th roots of 1. */
#define PARTS(radix) (((radix) + 1) / 2)

VEC_INLINE void forward_parts(struct complex_vf *x, int64_t part, const float *w, const float *root,
                              int radix)
{
    for (int64_t j = 0; j < part; j++, w += 2 * (radix - 1)) {
        struct complex_vf in[PARTS(5)];
        for (int p = 0; p < PARTS(radix); p++)
            in[p] = x[p * part + j];
        for (int q = 0; q < radix; q++) {
            struct complex_vf sum = in[0];
            for (int p = 1; p < PARTS(radix); p++)
                sum = add(sum, times(in[p], root + 2 * (p * q % radix)));
            x[q * part + j] = q ? times(sum, w + 2 * (q - 1)) : sum;
        }
    }
}

VEC_INLINE void inverse_parts(struct complex_vf *x, int64_t part, const float *w, const float *root,
                              int radix)
{
    for (int64_t j = 0; j < part; j++, w += 2 * (radix - 1)) {
        struct complex_vf in[5] = {x[j]};
        for (int q = 1; q < radix; q++)
            in[q] = times_conjugate(x[q * part + j], w + 2 * (q - 1));
        for (int p = 0; p < PARTS(radix); p++) {
            struct complex_vf sum = in[0];
            for (int q = 1; q < radix; q++)
                sum = add(sum, times_conjugate(in[q], root + 2 * (p * q % radix)));
            x[p * part + j] = sum;
        }
    }
}

VEC_INLINE void filter_parts(struct complex_vf *x, int64_t n, const float *w, const float *spectrum,
                             int radix)
{
    const int64_t part = n / radix;
    const float *root = w, *outer = w + 2 * radix, *inner = outer + 2 * (radix - 1) * part;
    forward_parts(x, part, outer, root, radix);
    for (int q = 0; q < radix; q++)
        filter_n(x + q * part, part, inner, spectrum + q * part);
    inverse_parts(x, part, outer, root, radix);
}

#if VEC == 16
#define LOW_HALVES  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_HALVES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VEC == 8
#define LOW_HALVES  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_HALVES 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW_HALVES  0, 4, 1, 5
#define HIGH_HALVES 2, 6, 3, 7
#endif

/* log2(VEC) perfect shuffles of VEC vectors are a transposition. */
VEC_INLINE void transpose(vf a[VEC])
{
#pragma GCC unroll 4
    for (int step = 1; step < VEC; step *= 2) {
        vf b[VEC];
#pragma GCC unroll 8
        for (int i = 0; i < VEC / 2; i++) {
            b[2 * i] = vec_shuffle(vi, a[i], a[i + VEC / 2], LOW_HALVES);
            b[2 * i + 1] = vec_shuffle(vi, a[i], a[i + VEC / 2], HIGH_HALVES);
        }
        memcpy(a, b, sizeof b);
    }
}

/* Up to VEC floats of a row, the rest 0. */
VEC_INLINE vf part(const float *p, int64_t n)
{
    vf v = {0};
    if (n >= VEC)
        return vf_load(p);
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

/* Loads rows half*VEC and on. of the block become the real (0) or imaginary (1) parts. */
static void filter_load(const struct row_block *b, int half, int64_t channels, struct complex_vf *x)
{
    for (int64_t c = 0; c < channels; c += VEC) {
        vf a[VEC];
        for (int i = 0; i < VEC; i++) {
            const float *from = b->from[half * VEC + i], *weight = b->weight[half * VEC + i];
            a[i] = from ? part(from + c, channels - c) : (vf){0};
            if (weight)
                a[i] *= part(weight + c, channels - c);
        }
        transpose(a);
        for (int i = 0; i < VEC; i++) /* beyond the channels: zeros */
            *(half ? &x[c + i].im : &x[c + i].re) = a[i];
    }
}

static void filter_store(const struct row_filter *f, const struct row_block *b, int half,
                         const struct complex_vf *x)
{
    const int behind = vec_behind(b->to[0]); /* all rows alike, where f->stream */
    vf before[VEC];
    for (int64_t c = 0; c < f->channels; c += VEC) {
        const int64_t rest = f->channels - c;
        vf a[VEC];
        for (int i = 0; i < VEC; i++)
            a[i] = half ? x[c + i].im : x[c + i].re;
        transpose(a);
        for (int i = 0; i < VEC; i++) {
            float *to = b->to[half * VEC + i];
            if (!to)
                continue;
            if (f->stream && VEC == 16 && behind)
                vf_stream_across(to + c, c == 0, rest == VEC, behind, &before[i], a[i]);
            else if (f->stream && VEC == 16) /* whole lines only: parts of lines cost 2 x */
                vf_stream(to + c, a[i]);
            else if (rest >= VEC)
                vf_store(to + c, a[i]);
            else
                memcpy(to + c, &a[i], (size_t)rest * sizeof *to);
        }
    }
}

static void filter_two_vectors(const struct row_filter *f, const struct row_block *b,
                               float *scratch)
{
    struct complex_vf *x = (struct complex_vf *)scratch;
    const int64_t loaded = (f->channels + VEC - 1) / VEC * VEC;
    filter_load(b, 0, f->channels, x);
    filter_load(b, 1, f->channels, x);
    const int64_t read = f->radix == 4 ? f->n / 2 : f->n / f->radix * PARTS(f->radix);
    if (read > loaded)
        memset(x + loaded, 0, (size_t)(read - loaded) * sizeof *x);
    if (f->radix == 4)
        filter_quarters(x, f->n, f->twiddle, f->spectrum, 1);
    else if (f->radix == 3)
        filter_parts(x, f->n, f->twiddle, f->spectrum, 3);
    else
        filter_parts(x, f->n, f->twiddle, f->spectrum, 5);
    filter_store(f, b, 0, x);
    filter_store(f, b, 1, x);
    vf_stream_end();
}

const struct filter_kernels ISA_NAME(filter_kernels) = {2 * VEC, filter_two_vectors};
