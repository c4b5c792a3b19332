/* Shared by back ends for the steps on volumes: declared work, and the numbers of a map. */
#include <math.h>
#include <string.h>

#include "host/backend/volume.h"

double volume_step_bytes(const struct volume_step *s)
{
    const double out = (double)volume_step_voxels(s->out);
    double in = (double)volume_step_voxels(s->in);
    if (s->kind == VOLUME_MAP)
        in = out;
    if (s->kind == VOLUME_PLACE) {
        in = 1;
        for (int a = 0; a < 3; a++) {
            int64_t first = s->turn[a] > 0 ? s->start[a] : s->start[a] - s->out[a] + 1;
            int64_t end = first + s->out[a], n = s->in[s->from[a]];
            first = first < 0 ? 0 : first;
            end = end > n ? n : end;
            in *= end > first ? (double)(end - first) : 0;
        }
    }
    if (s->kind == VOLUME_NEAREST && in > out)
        in = out;
    return 4 * in + volume_dtype_bytes(s->dtype) * out;
}

double volume_step_flops(const struct volume_step *s)
{
    const double out = (double)volume_step_voxels(s->out);
    switch (s->kind) {
    case VOLUME_MAP: /* z-norm: a difference, two sums, a square; then three of the map */
        return s->norm == VOLUME_Z_NORM ? 7 * out : s->norm == VOLUME_RESCALE ? 5 * out : 0;
    case VOLUME_LINEAR: /* a blend of 3 operations along each dimension that changes */
        return 3 * out * (1 + (s->in[0] != s->out[0]) + (s->in[1] != s->out[1]));
    case VOLUME_HALVE:
        return 8 * out;
    default:
        return 0;
    }
}

static float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Sign, five bits of exponent, ten of fraction. Choices, no branches: compilers make vectors of it.
 * Behind the bits of 1/2 a fraction counts 2^-24. */
static float half_value(uint32_t bits)
{
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31,
                   fraction = bits & 1023;
    const uint32_t number = (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    const float small = float_of_bits(0x3f000000u | fraction) - 0.5f;
    uint32_t small_bits;
    memcpy(&small_bits, &small, sizeof small_bits);
    return float_of_bits(sign | (exponent ? number : small_bits));
}

#define EACH(type, expression)                                                                     \
    do {                                                                                           \
        const type *a = (const type *)array + from;                                                \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = (double)(expression);                                                         \
    } while (0)

void volume_values(enum volume_dtype t, const void *array, int64_t from, int64_t n, double *out)
{
    switch (t) {
    case VOLUME_F16:
        EACH(uint16_t, half_value(a[i]));
        break;
    case VOLUME_BF16:
        EACH(uint16_t, float_of_bits((uint32_t)a[i] << 16));
        break;
    case VOLUME_I16:
        EACH(int16_t, a[i]);
        break;
    case VOLUME_U8:
        EACH(uint8_t, a[i]);
        break;
    case VOLUME_F32:
        EACH(float, a[i]);
        break;
    }
}

double volume_value(enum volume_dtype t, const void *array, int64_t i)
{
    double value = 0;
    volume_values(t, array, i, 1, &value);
    return value;
}

void volume_moments_add(struct volume_moments *m, double k, double n, double s, double q)
{
    if (n == 0)
        return;
    const double mean = k + s / n, apart = mean - m->mean, all = m->count + n;
    m->squares += q - s / n * s + apart * apart * (m->count * n / all);
    m->mean += apart * (n / all);
    m->count = all;
}

struct volume_map volume_map_z_norm(const struct volume_moments *m)
{
    struct volume_map map = {0, 1, 0, -INFINITY, INFINITY};
    const double std = m->count > 0 ? sqrt(fmax(m->squares, 0) / m->count) : 1;
    if (m->count == 0)
        return map;
    if (isnan(m->mean) || isnan(m->squares) || isinf(m->mean))
        map.less = NAN; /* an infinite value: the mean is not known */
    else
        map.less = (float)m->mean;
    /* The rest of the mean, which float32 loses, counts where std is small beside it. A std at the
     * rounding of the mean is that of a constant. */
    const int constant = std <= fabs(m->mean) * 1e-12;
    map.factor = constant ? 0 : (float)(1 / std);
    map.plus = constant || isnan(map.less) ? 0 : (float)(((double)map.less - m->mean) / std);
    return map;
}

struct volume_map volume_map_rescale(const struct volume_step *s, float low, float high)
{
    const double from = s->low < s->high ? s->low : s->high, to = s->low + s->high - from;
    struct volume_map map = {0, 1, 0, -INFINITY, INFINITY};
    if (low > high)
        return map;
    map.less = low;
    map.factor = high > low ? (float)((s->high - s->low) / ((double)high - (double)low)) : 0;
    map.plus = (float)s->low;
    map.low = (float)from;
    map.high = (float)to;
    return map;
}
