/* Arithmetic of single samples of views that the kernels of all back ends share: C17 and CUDA. */
#ifndef TP_BACKEND_PREPARE_MATH_H
#define TP_BACKEND_PREPARE_MATH_H

#include <math.h>
#include <stdint.h>

#include "host/backend/fused_math.h"
#include "host/backend/prepare.h"

#ifdef __CUDACC__
#define PREPARE_INLINE static __host__ __device__ inline
#else
#define PREPARE_INLINE static inline __attribute__((always_inline))
#endif

/* A step with its arrays; numbers in float32 as they are used. */
struct prepare_job {
    int64_t rows, channels;          /* of the input */
    int64_t out_channels, out_views; /* of the result, which has the same rows */
    const float *in;
    const float *dark, *before, *after; /* flat: (rows, channels) */
    const float *line;                  /* air: left, right mean of every row, or of every view */
    int size, sides, whole_view, end;
    float threshold, drift_first, drift_step, left_middle, right_middle, low, high;
    float coefficient[PREPARE_COEFFICIENTS], cosine, sine, start, overlap;
};

/* d c b a | a b c d | d c b a */
PREPARE_INLINE int64_t prepare_reflected(int64_t i, int64_t n)
{
    const int64_t period = 2 * n;
    int64_t turn = i % period;
    turn = turn < 0 ? turn + period : turn;
    return turn < n ? turn : period - 1 - turn;
}

/* The median of the finite samples around; x itself where there is none. */
PREPARE_INLINE float prepare_outlier(const struct prepare_job *j, const float *view, int64_t r,
                                     int64_t c)
{
    float near[PREPARE_WINDOW * PREPARE_WINDOW];
    const float x = view[r * j->channels + c];
    const int half = j->size / 2;
    int n = 0;
    for (int dr = -half; dr <= half; dr++) {
        const float *row = view + prepare_reflected(r + dr, j->rows) * j->channels;
        for (int dc = -half; dc <= half; dc++) {
            const float y = row[prepare_reflected(c + dc, j->channels)];
            if (!isfinite(y))
                continue;
            int at = n++;
            for (; at && near[at - 1] > y; at--)
                near[at] = near[at - 1];
            near[at] = y;
        }
    }
    if (!n)
        return x;
    const float m = near[n / 2], far = j->threshold * fabsf(m);
    const int bright = j->sides & SIDE_BRIGHT && x - m > far;
    const int dark = j->sides & SIDE_DARK && m - x > far;
    return bright || dark || !isfinite(x) ? m : x;
}

PREPARE_INLINE float prepare_transmission(float x, float white, float dark)
{
    return fabsf(x - dark) / fabsf(white - dark);
}

PREPARE_INLINE float prepare_flat(const struct prepare_job *j, float x, int64_t v, int64_t i)
{
    const float t = fused(j->drift_step, (float)v, j->drift_first);
    const float white = fused(t, j->after[i] - j->before[i], j->before[i]);
    const float ratio = prepare_transmission(x, white, j->dark[i]);
    return isfinite(ratio) ? ratio : NAN;
}

/* NaN, and 0 where the quotient is not finite, stay to be repaired. */
PREPARE_INLINE float prepare_air(const struct prepare_job *j, float x, int64_t v, int64_t r,
                                 int64_t c)
{
    const float *line = j->line + 2 * (j->whole_view ? v : v * j->rows + r);
    const float width = j->right_middle - j->left_middle;
    const float share = width > 0 ? ((float)c - j->left_middle) / width : 0;
    const float air = line[0] + share * (line[1] - line[0]);
    const float ratio = x / air;
    return isfinite(ratio) ? ratio : NAN;
}

PREPARE_INLINE float prepare_log(const struct prepare_job *j, float x)
{
    x = x < j->low ? j->low : x;
    x = x > j->high ? j->high : x;
    const float y = -logf(x);
    return isfinite(y) ? y : NAN;
}

PREPARE_INLINE float prepare_polynomial(const struct prepare_job *j, float x)
{
    float y = 0;
    for (int k = PREPARE_COEFFICIENTS - 1; k >= 0; k--)
        y = (y + j->coefficient[k]) * x;
    return y;
}

PREPARE_INLINE float prepare_within(float x, float most)
{
    x = x < 0 ? 0 : x;
    return x > most ? most : x;
}

/* Positions are counted from the middle of the view. */
PREPARE_INLINE float prepare_tilted(const struct prepare_job *j, const float *view, int64_t r,
                                    int64_t c)
{
    const float xm = 0.5f * (float)(j->channels - 1), ym = 0.5f * (float)(j->rows - 1);
    const float x = (float)c - xm, y = (float)r - ym;
    const float xs = prepare_within(xm + (x * j->cosine - y * j->sine), (float)(j->channels - 1));
    const float ys = prepare_within(ym + (x * j->sine + y * j->cosine), (float)(j->rows - 1));
    const int64_t x0 = (int64_t)xs, y0 = (int64_t)ys;
    const int64_t x1 = x0 + 1 < j->channels ? x0 + 1 : x0, y1 = y0 + 1 < j->rows ? y0 + 1 : y0;
    const float tx = xs - (float)x0, ty = ys - (float)y0;
    const float *a = view + y0 * j->channels, *b = view + y1 * j->channels;
    const float low = a[x0] + tx * (a[x1] - a[x0]), high = b[x0] + tx * (b[x1] - b[x0]);
    return low + ty * (high - low);
}

/* Channel c of the wide detector: the first half lies at 0 and fades out, the second begins at
 * `start` and fades in. Of the two views one is mirrored. */
PREPARE_INLINE float prepare_joined(const struct prepare_job *j, int64_t v, int64_t r, int64_t c)
{
    const int64_t n = j->channels, first = j->end > 0 ? v : v + j->out_views;
    const int64_t second = j->end > 0 ? v + j->out_views : v;
    const float *a = j->in + (first * j->rows + r) * n, *b = j->in + (second * j->rows + r) * n;
    const float at = (float)c - j->start, below = floorf(at);
    float x = 0, y = 0;
    if (c < n)
        x = a[j->end > 0 ? c : n - 1 - c];
    if (!(at > -1) || c < 0)
        return x;
    int64_t k = (int64_t)below, k1 = k + 1;
    k = k < 0 ? 0 : k > n - 1 ? n - 1 : k;
    k1 = k1 > n - 1 ? n - 1 : k1;
    const float p = b[j->end > 0 ? n - 1 - k : k], q = b[j->end > 0 ? n - 1 - k1 : k1];
    y = p + (at - below) * (q - p);
    if (c >= n)
        return y;
    const float share = j->overlap > 1 ? prepare_within(at / (j->overlap - 1), 1) : 0.5f;
    return x + share * (y - x);
}

/* Computes one sample of the result; KIND is known where this is compiled. */
PREPARE_INLINE float prepare_sample(enum prepare_kind kind, const struct prepare_job *j, int64_t v,
                                    int64_t r, int64_t c)
{
    const float *view = j->in + v * j->rows * j->channels;
    const int64_t i = r * j->channels + c;
    switch (kind) {
    case PREPARE_OUTLIERS:
        return prepare_outlier(j, view, r, c);
    case PREPARE_FLAT:
        return prepare_flat(j, view[i], v, i);
    case PREPARE_AIR:
        return prepare_air(j, view[i], v, r, c);
    case PREPARE_LOG:
        return prepare_log(j, view[i]);
    case PREPARE_POLYNOMIAL:
        return prepare_polynomial(j, view[i]);
    case PREPARE_TILT:
        return prepare_tilted(j, view, r, c);
    case PREPARE_JOIN:
        return prepare_joined(j, v, r, c);
    default:
        return 0;
    }
}

/* frames: dark, before, after, each (rows, channels). */
PREPARE_INLINE struct prepare_job prepare_job_of(const struct prepare_step *s, const float *in,
                                                 const float *frames, const float *line)
{
    const int64_t frame = s->in[1] * s->in[2];
    struct prepare_job j;
    j.rows = s->in[1];
    j.channels = s->in[2];
    j.out_channels = s->out[2];
    j.out_views = s->out[0];
    j.in = in;
    j.dark = frames;
    j.before = frames ? frames + frame : frames;
    j.after = frames ? frames + 2 * frame : frames;
    j.line = line;
    j.size = s->size;
    j.sides = s->sides;
    j.whole_view = s->whole_view;
    j.end = s->end;
    j.threshold = (float)s->threshold;
    j.drift_first = (float)s->drift_first;
    j.drift_step = (float)s->drift_step;
    /* Air on one side alone: the same everywhere. */
    j.left_middle = 0.5f * (float)(s->left - 1);
    j.right_middle =
        s->left && s->right ? (float)(s->in[2] - 1) - 0.5f * (float)(s->right - 1) : j.left_middle;
    j.low = (float)s->low;
    j.high = (float)s->high;
    for (int k = 0; k < PREPARE_COEFFICIENTS; k++)
        j.coefficient[k] = (float)s->coefficient[k];
    j.cosine = (float)s->cosine;
    j.sine = (float)s->sine;
    j.overlap = (float)s->overlap;
    j.start = (float)((double)s->in[2] - s->overlap);
    return j;
}

/* Wavelets, half-sample symmetric: sample `o` of a level from the one before it. */
PREPARE_INLINE void prepare_analysed(const float *x, int64_t n, int64_t stride, const float *low,
                                     int taps, int64_t o, float *smooth, float *detail)
{
    float s = 0, d = 0;
    for (int k = 0; k < taps; k++) {
        const float y = x[prepare_reflected(2 * o + 1 - k, n) * stride];
        s += low[k] * y;
        d += (k % 2 ? low[taps - 1 - k] : -low[taps - 1 - k]) * y;
    }
    *smooth = s;
    *detail = d;
}

/* And back: sample i of 2 count - taps + 2. */
PREPARE_INLINE float prepare_composed(const float *smooth, const float *detail, int64_t count,
                                      int64_t stride, const float *low, int taps, int64_t i)
{
    const int64_t top = i + taps - 2;
    float x = 0;
    for (int64_t o = i / 2; o <= top / 2 && o < count; o++) {
        const int k = (int)(top - 2 * o); /* of the filters that compose: these turned over */
        const float h = low[taps - 1 - k], g = k % 2 ? -low[k] : low[k];
        x += h * smooth[o * stride] + g * detail[o * stride];
    }
    return x;
}

#endif
