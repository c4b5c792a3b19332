/* Steps on volumes in float64, one voxel at a time. */
#include "tests/operators/twin_volume.h"

#include <math.h>
#include <string.h>

static double at(const struct volume_step *s, const float *x, int64_t r, int64_t c, int64_t k)
{
    return (double)x[(r * s->in[1] + c) * s->in[2] + k];
}

/* Mean, std, minimum, maximum and count of the box without its NaN. */
static void box(const struct volume_step *s, const float *x, double f[5])
{
    double sum = 0, squares = 0, n = 0, low = INFINITY, high = -INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t r = 0; r < s->out[0]; r++)
            for (int64_t c = 0; c < s->out[1]; c++)
                for (int64_t k = 0; k < s->out[2]; k++) {
                    const double v = at(s, x, r + s->start[0], c + s->start[1], k + s->start[2]);
                    if (isnan(v))
                        continue;
                    n += !pass;
                    sum += pass ? 0 : v;
                    squares += pass ? (v - sum / n) * (v - sum / n) : 0;
                    low = fmin(low, v);
                    high = fmax(high, v);
                }
    f[0] = sum / n;
    f[1] = sqrt(squares / n);
    f[2] = low;
    f[3] = high;
    f[4] = n;
}

static double normalised(const struct volume_step *s, const double f[5], double v)
{
    if (isnan(v) || s->norm == VOLUME_AS_IS)
        return v;
    if (s->norm == VOLUME_Z_NORM)
        return f[1] > 0 ? (v - f[0]) / f[1] : 0;
    return f[3] > f[2] ? (v - f[2]) / (f[3] - f[2]) * (s->high - s->low) + s->low : s->low;
}

static double placed(const struct volume_step *s, const float *x, const int64_t i[3])
{
    int64_t p[3];
    for (int a = 0; a < 3; a++) {
        const int64_t v = s->start[a] + s->turn[a] * i[a];
        if (v < 0 || v >= s->in[s->from[a]])
            return 0;
        p[s->from[a]] = v;
    }
    return at(s, x, p[0], p[1], p[2]);
}

static double resampled(const struct volume_step *s, const float *x, const int64_t i[3])
{
    int64_t low[3], high[3];
    double t[3], sum = 0;
    for (int a = 0; a < 3; a++) {
        /* (i + 1/2) in / out - 1/2 in halves of 1 / out: whole numbers, and what is left */
        int64_t halves = (2 * i[a] + 1) * s->in[a] - (s->kind == VOLUME_NEAREST ? 0 : s->out[a]);
        for (low[a] = 0; halves >= 2 * s->out[a] && low[a] < s->in[a] - 1; low[a]++)
            halves -= 2 * s->out[a];
        const int between = s->kind == VOLUME_LINEAR && halves > 0 && low[a] < s->in[a] - 1;
        high[a] = low[a] + 1 < s->in[a] ? low[a] + 1 : low[a];
        t[a] = between ? (double)halves / (double)(2 * s->out[a]) : 0;
    }
    for (int e = 0; e < 8; e++) {
        const double w =
            (e & 4 ? t[0] : 1 - t[0]) * (e & 2 ? t[1] : 1 - t[1]) * (e & 1 ? t[2] : 1 - t[2]);
        if (w != 0 || s->kind == VOLUME_LINEAR)
            sum += w * at(s, x, e & 4 ? high[0] : low[0], e & 2 ? high[1] : low[1],
                          e & 1 ? high[2] : low[2]);
    }
    return sum;
}

static double halved(const struct volume_step *s, const float *x, const int64_t i[3])
{
    double sum = 0, n = 0;
    for (int e = 0; e < 8; e++) {
        const int64_t r = 2 * i[0] + (e >> 2), c = 2 * i[1] + (e >> 1 & 1), k = 2 * i[2] + (e & 1);
        if (r < s->in[0] && c < s->in[1] && k < s->in[2]) {
            sum += at(s, x, r, c, k);
            n++;
        }
    }
    return sum / n;
}

void twin_volume(const struct volume_step *s, const float *in, double *out)
{
    double f[5] = {0};
    if (s->kind == VOLUME_MAP)
        box(s, in, f);
    for (int64_t n = 0; n < volume_step_voxels(s->out); n++) {
        const int64_t i[3] = {n / s->out[2] / s->out[1], n / s->out[2] % s->out[1], n % s->out[2]};
        if (s->kind == VOLUME_MAP)
            out[n] = normalised(
                s, f, at(s, in, i[0] + s->start[0], i[1] + s->start[1], i[2] + s->start[2]));
        else if (s->kind == VOLUME_PLACE)
            out[n] = placed(s, in, i);
        else
            out[n] = s->kind == VOLUME_HALVE ? halved(s, in, i) : resampled(s, in, i);
    }
}

/* Sign, exponent and fraction of a number of 16 bits. */
static double small_float(unsigned bits, int exponent_bits)
{
    const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    const double fraction = bits & ((1u << fraction_bits) - 1), sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + ldexp(1, fraction_bits), exponent - bias - fraction_bits);
}

double twin_volume_value(enum volume_dtype t, const void *array, int64_t i)
{
    switch (t) {
    case VOLUME_F32:
        return (double)((const float *)array)[i];
    case VOLUME_I16:
        return ((const int16_t *)array)[i];
    case VOLUME_U8:
        return ((const uint8_t *)array)[i];
    default:
        return small_float(((const uint16_t *)array)[i], t == VOLUME_F16 ? 5 : 8);
    }
}

double twin_volume_cast(enum volume_dtype t, double x)
{
    if (t == VOLUME_I16 || t == VOLUME_U8) {
        const double low = t == VOLUME_I16 ? -32768 : 0, high = t == VOLUME_I16 ? 32767 : 255;
        return isnan(x) ? 0 : fmin(fmax(nearbyint(x), low), high);
    }
    const int digits = t == VOLUME_F16 ? 11 : 8, least = t == VOLUME_F16 ? -24 : -133;
    const double most = t == VOLUME_F16 ? 65504 : 0x1.fep127;
    int exponent;
    if (isnan(x) || x == 0)
        return x;
    if (fabs(x) >= most)
        return copysign(most, x);
    frexp(x, &exponent);
    const int last = exponent - digits < least ? least : exponent - digits;
    const double rounded = ldexp(nearbyint(ldexp(x, -last)), last);
    return fabs(rounded) > most ? copysign(most, x) : rounded;
}
