/* Checks of the steps on views: samples computed anew in float64, and properties. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "host/suite/catalogue/volume.h"

#define SAMPLES 400 /* compared */

/* Reads a view of the input and its neighbourhood. */
static double view_at(const struct run_state *s, int64_t v, int64_t r, int64_t c)
{
    const int64_t *n = s->prepare.in;
    return (double)s->in.host[(v * n[1] + r) * n[2] + c];
}

static int64_t mirrored_index(int64_t i, int64_t n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
}

static double outlier_at(const struct run_state *s, int64_t v, int64_t r, int64_t c)
{
    const struct prepare_step *p = &s->prepare;
    double near[PREPARE_WINDOW * PREPARE_WINDOW];
    int n = 0;
    for (int i = -p->size / 2; i <= p->size / 2; i++)
        for (int k = -p->size / 2; k <= p->size / 2; k++)
            near[n++] =
                view_at(s, v, mirrored_index(r + i, p->in[1]), mirrored_index(c + k, p->in[2]));
    qsort(near, (size_t)n, sizeof *near, ascending_double);
    const double x = view_at(s, v, r, c), m = near[n / 2], far = p->threshold * fabs(m);
    return (p->sides & SIDE_BRIGHT && x - m > far) || (p->sides & SIDE_DARK && m - x > far) ? m : x;
}

static double flat_at(const struct run_state *s, int64_t v, int64_t r, int64_t c)
{
    const int64_t *n = s->prepare.in, i = r * n[2] + c, frame = n[1] * n[2];
    const double t = s->prepare.drift_first + s->prepare.drift_step * (double)v;
    const double dark = (double)s->frames.host[i];
    const double white =
        (1 - t) * (double)s->frames.host[frame + i] + t * (double)s->frames.host[2 * frame + i];
    return fabs(view_at(s, v, r, c) - dark) / fabs(white - dark);
}

static double side_mean(const struct run_state *s, int64_t v, int64_t r, int64_t first,
                        int64_t count)
{
    const int64_t low = s->prepare.whole_view ? 0 : r;
    const int64_t end = s->prepare.whole_view ? s->prepare.in[1] : r + 1;
    double sum = 0;
    for (int64_t i = low; i < end; i++)
        for (int64_t c = first; c < first + count; c++)
            sum += view_at(s, v, i, c);
    return sum / (double)(count * (end - low));
}

static double air_at(const struct run_state *s, int64_t v, int64_t r, int64_t c)
{
    const struct prepare_step *p = &s->prepare;
    const double n = (double)p->in[2], left = (double)p->left, right = (double)p->right;
    const double a = side_mean(s, v, r, 0, p->left);
    const double b = side_mean(s, v, r, p->in[2] - p->right, p->right);
    const double from = (left - 1) / 2, to = n - 1 - (right - 1) / 2;
    const double line = !p->left    ? b
                        : !p->right ? a
                                    : a + (b - a) * ((double)c - from) / (to - from);
    return view_at(s, v, r, c) / line;
}

static double polynomial_of(const struct run_state *s, double y)
{
    double sum = 0;
    for (int k = 0; k < PREPARE_COEFFICIENTS; k++)
        sum += s->prepare.coefficient[k] * pow(y, k + 1);
    return sum;
}

/* Linear between samples, edges repeated. */
static double view_between(const struct run_state *s, int64_t v, double r, double c)
{
    const int64_t *n = s->prepare.in;
    double sum = 0;
    r = fmax(0, fmin(r, (double)(n[1] - 1)));
    c = fmax(0, fmin(c, (double)(n[2] - 1)));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const int64_t row = (int64_t)r + i, channel = (int64_t)c + k;
            const double weight =
                fmax(0, 1 - fabs(r - (double)row)) * fmax(0, 1 - fabs(c - (double)channel));
            if (weight > 0)
                sum += weight * view_at(s, v, row, channel);
        }
    return sum;
}

static double tilted_at(const struct run_state *s, int64_t v, int64_t r, int64_t c)
{
    const struct prepare_step *p = &s->prepare;
    const double ym = 0.5 * (double)(p->in[1] - 1), xm = 0.5 * (double)(p->in[2] - 1);
    const double x = (double)c - xm, y = (double)r - ym;
    return view_between(s, v, ym + x * p->sine + y * p->cosine, xm + x * p->cosine - y * p->sine);
}

static double joined_at(const struct run_state *s, int64_t v, int64_t r, int64_t c)
{
    const struct prepare_step *p = &s->prepare;
    const double last = (double)(p->in[2] - 1), start = (double)p->in[2] - p->overlap;
    const int64_t half = p->out[0], a = p->end > 0 ? v : v + half, b = p->end > 0 ? v + half : v;
    const double ca = (double)c, cb = (double)c - start;
    const double x = view_between(s, a, (double)r, p->end > 0 ? ca : last - ca);
    const double y = view_between(s, b, (double)r, p->end > 0 ? last - cb : cb);
    const double share = fmax(0, fmin(1, p->overlap > 1 ? cb / (p->overlap - 1) : 0.5));
    return cb <= -1 ? x : ca > last ? y : (1 - share) * x + share * y;
}

static double expected_view(const struct run_state *s, int64_t v, int64_t r, int64_t c)
{
    const struct prepare_step *p = &s->prepare;
    switch (p->kind) {
    case PREPARE_OUTLIERS:
        return outlier_at(s, v, r, c);
    case PREPARE_FLAT:
        return flat_at(s, v, r, c);
    case PREPARE_AIR:
        return air_at(s, v, r, c);
    case PREPARE_LOG:
        return -log(fmax(p->low, fmin(p->high, view_at(s, v, r, c))));
    case PREPARE_POLYNOMIAL:
        return polynomial_of(s, view_at(s, v, r, c));
    case PREPARE_TILT:
        return tilted_at(s, v, r, c);
    default:
        return joined_at(s, v, r, c);
    }
}

enum err check_prepared(struct run_state *s)
{
    const int64_t *n = s->prepare.out, total = prepare_samples(n);
    const int64_t step = total / SAMPLES + 1;
    const float *y;
    float *copy;
    double worst = 0, most = 0;
    TRY(state_result(s, &y, &copy));
    for (int64_t i = 0; i < total; i += step) {
        const double e = expected_view(s, i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]);
        worst = fmax(worst, fabs((double)y[i] - e));
        most = fmax(most, fabs(e));
    }
    mem_free(copy);
    /* float32, and positions between channels of float32. */
    FAIL_IF(!(worst <= 2e-5 * most * (1 + (double)n[2] / 64)), ERR_FAILED,
            "wrong result: samples of at most %.6g are off by %.3g", most, worst);
    return ERR_OK;
}

enum err check_phase(struct run_state *s)
{
    const int64_t samples = prepare_samples(s->prepare.out);
    const float *y;
    float *copy;
    double before = 0, after = 0, rough = 0, smooth = 0;
    TRY(state_result(s, &y, &copy));
    for (int64_t i = 1; i < samples; i++) {
        before += (double)s->in.host[i];
        after += (double)y[i];
        rough += fabs((double)(s->in.host[i] - s->in.host[i - 1]));
        smooth += fabs((double)(y[i] - y[i - 1]));
    }
    mem_free(copy);
    FAIL_IF(!(fabs(after / before - 1) < 0.02 + 0.5 / (double)s->prepare.in[2]) ||
                !(smooth < rough),
            ERR_FAILED,
            "wrong result: the mean changed by a factor of %.6g, the differences of neighbours by "
            "%.6g",
            after / before, smooth / rough);
    return ERR_OK;
}

/* The phantom's noise moves it by a tenth of a channel. */
enum err check_center(struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    const double truth = 0.5 * (double)(scan->channels - 1) + scan->channel_offset;
    FAIL_IF(!(fabs(s->center - truth) <= 1), ERR_FAILED,
            "wrong result: the axis is at channel %.3f, not %.3f", truth, s->center);
    return ERR_OK;
}
