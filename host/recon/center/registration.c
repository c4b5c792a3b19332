/* The rotation centre of a scan, from views half a turn apart. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "host/recon/center/center.h"

/* Two parallel projections half a turn apart are mirror images: p(theta, n) = p(theta + pi, s - n)
 * with s = 2 * centre. For a pair of views the best s is searched over whole channels on the mean
 * of its rows, then refined by the minimum of the smoothed mismatch of all rows. Partners are
 * rarely exact: over an angle error e the match moves in proportion to e, so pairs on both sides of
 * half a turn are interpolated, or, where the scan stops short of it, a line through the nearest
 * pairs is read at e = 0. */

#define PAIRS_MAX    24  /* fixed views tried, evenly chosen; the median counts */
#define EXACT        .01 /* of a step: no correction needed */
#define CHANNELS_MIN 16
#define ROWS_MAX     32 /* detector rows compared, evenly chosen */

struct center_search {
    const struct center_views *p;
    int64_t row_step, rows;
    double *a, *b; /* mean profiles of a pair, [channels] */
};

static const float *search_row(const struct center_search *s, int64_t view, int64_t row)
{
    const struct center_views *p = s->p;
    return p->y + (view * p->rows + row * s->row_step) * p->channels;
}

static void mean_profile(const struct center_search *s, int64_t view, double *out)
{
    memset(out, 0, (size_t)s->p->channels * sizeof *out);
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t n = 0; n < s->p->channels; n++)
            out[n] += (double)search_row(s, view, r)[n];
}

/* Sums of a[n] and b[shift - n] over n in first..last, each less its mean. */
struct moments {
    double ab, aa, bb;
};

#define ADD_MOMENTS(name, type)                                                                    \
    static void name(const type *a, const type *b, int64_t shift, int64_t first, int64_t last,     \
                     struct moments *m)                                                            \
    {                                                                                              \
        double sa = 0, sb = 0, ab = 0, aa = 0, bb = 0, count = (double)(last - first + 1);         \
        for (int64_t n = first; n <= last; n++) {                                                  \
            double x = (double)a[n], y = (double)b[shift - n];                                     \
            sa += x;                                                                               \
            sb += y;                                                                               \
            ab += x * y;                                                                           \
            aa += x * x;                                                                           \
            bb += y * y;                                                                           \
        }                                                                                          \
        m->ab += ab - sa * sb / count;                                                             \
        m->aa += aa - sa * sa / count;                                                             \
        m->bb += bb - sb * sb / count;                                                             \
    }
ADD_MOMENTS(add_profile, double)
ADD_MOMENTS(add_row, float)

static double moments_correlation(const struct moments *m)
{
    return m->aa > 0 && m->bb > 0 ? m->ab / sqrt(m->aa * m->bb) : 0;
}

/* Whole shift that matches the mean profiles best. The centre is sought in the middle half of the
 * detector, where at least half of the channels overlap. */
static int64_t match_profiles(const struct center_search *s, int64_t view_a, int64_t view_b)
{
    int64_t channels = s->p->channels, best = channels - 1;
    double highest = -2;
    mean_profile(s, view_a, s->a);
    mean_profile(s, view_b, s->b);
    for (int64_t shift = channels / 2; shift <= channels - 1 + channels / 2; shift++) {
        struct moments m = {0};
        int64_t first = shift < channels ? 0 : shift - channels + 1;
        add_profile(s->a, s->b, shift, first, shift - first, &m);
        if (moments_correlation(&m) > highest) {
            highest = moments_correlation(&m);
            best = shift;
        }
    }
    return best;
}

#define LAGS_MAX 121 /* 5 standard deviations of at most 12 channels to either side */

/* c[0..n) smoothed by a Gaussian of standard deviation w, at the real index x. */
static double curve_smoothed(const double *c, int n, double w, double x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double t = ((double)i - x) / w;
        sum += c[i] * exp(-t * t / 2);
    }
    return sum;
}

/* Mismatch of all rows (summed variance of a[n] - b[shift - n]) at the shifts middle - half ..
 * middle + half, and their correlations. Every shift is judged over the same channels n, those that
 * exist at all of them: a changing overlap would tilt the curve and move its minimum. */
static void match_rows(const struct center_search *s, int64_t view_a, int64_t view_b,
                       int64_t middle, int half, double *mismatch, double *scores)
{
    int64_t channels = s->p->channels, low = middle - half, high = middle + half;
    int64_t first = high < channels ? 0 : high - channels + 1;
    int64_t last = low < channels ? low : channels - 1;
    for (int64_t shift = low; shift <= high; shift++) {
        struct moments m = {0};
        for (int64_t r = 0; r < s->rows; r++)
            add_row(search_row(s, view_a, r), search_row(s, view_b, r), shift, first, last, &m);
        *mismatch++ = m.aa + m.bb - 2 * m.ab;
        *scores++ = moments_correlation(&m);
    }
}

/* Best shift of a pair, below a channel, and the correlation at the whole shift next to it. About
 * the true shift the mismatch is even (an autocorrelation turned over), also where the object
 * leaves the detector, so smoothing it moves no minimum, and takes off the noise that a parabola
 * through three points would follow. */
static double pair_match(const struct center_search *s, int64_t view_a, int64_t view_b,
                         double *score)
{
    int64_t channels = s->p->channels, best = match_profiles(s, view_a, view_b);
    double w = fmax(1, fmin(12, (double)channels / 100)), mismatch[LAGS_MAX], scores[LAGS_MAX];
    int half = (int)(5 * w), n = 2 * half + 1;
    match_rows(s, view_a, view_b, best, half, mismatch, scores);
    double low = half, step = .25;
    for (double x = half - w; x <= half + w; x += step)
        if (curve_smoothed(mismatch, n, w, x) < curve_smoothed(mismatch, n, w, low))
            low = x;
    double left = curve_smoothed(mismatch, n, w, low - step),
           right = curve_smoothed(mismatch, n, w, low + step);
    double bend = left - 2 * curve_smoothed(mismatch, n, w, low) + right;
    low += bend > 0 ? fmax(-1, fmin(1, (left - right) / (2 * bend))) * step : 0;
    *score = scores[(int)rint(low)];
    return (double)(best - half) + low;
}

/* x less the multiple of a turn that brings it nearest to 0. */
static double nearest_turn(double x)
{
    return x - 2 * M_PI * rint(x / (2 * M_PI));
}

/* How well the two nearest partners of a view tell its match at exactly half a turn. */
enum quality { NO_PARTNER, EXTRAPOLATED, BRACKETED };

/* The two views nearest to half a turn from `view`, and how far they are from it. */
static enum quality find_partners(const struct center_views *p, int64_t view, double step,
                                  int64_t partner[2], double error[2])
{
    error[0] = error[1] = (double)INFINITY;
    for (int64_t k = 0; k < p->views; k++) {
        double e = nearest_turn((double)p->angles[k] - (double)p->angles[view] - M_PI);
        int at = fabs(e) < fabs(error[0]) ? 0 : 1;
        if (fabs(e) >= fabs(error[at]))
            continue;
        if (!at) {
            error[1] = error[0];
            partner[1] = partner[0];
        }
        error[at] = e;
        partner[at] = k;
    }
    if (fabs(error[0]) > 1.01 * step)
        return NO_PARTNER;
    int bracketed = error[0] * error[1] <= 0 && fabs(error[1]) <= 1.01 * step;
    return bracketed || fabs(error[0]) < EXACT * step ? BRACKETED : EXTRAPOLATED;
}

/* The shift at no angle error of a view with bracketing partners. */
static double match_view(const struct center_search *s, int64_t view, const int64_t partner[2],
                         const double error[2], double step, double *score)
{
    double first = pair_match(s, view, partner[0], score), unused;
    int exact = fabs(error[0]) < EXACT * step;
    if (exact || error[1] == error[0])
        return first;
    double second = pair_match(s, view, partner[1], &unused);
    return first - error[0] * (second - first) / (error[1] - error[0]);
}

static double double_median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, ascending_double);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static double mean_step(const struct center_views *p)
{
    float low = p->angles[0], high = p->angles[0];
    for (int64_t v = 1; v < p->views; v++) {
        low = fminf(low, p->angles[v]);
        high = fmaxf(high, p->angles[v]);
    }
    return p->views > 1 ? (double)(high - low) / (double)(p->views - 1) : 0;
}

/* The views whose partners tell most, at most PAIRS_MAX of them evenly chosen; returns their
 * number. A scan over 180 degrees has partners at its ends alone, one over 360 degrees everywhere.
 * The search takes views^2 steps: beyond 4096 views it takes every second, third ... and all
 * near the ends. */
static int64_t choose_views(const struct center_views *p, double step, enum quality *best,
                            int64_t chosen[PAIRS_MAX])
{
    int64_t partner[2], count[3] = {0}, stride = p->views / 4096 + 1, kept = 0, seen = 0;
    double error[2];
    unsigned char *quality = calloc((size_t)p->views, 1);
    for (int64_t v = 0; quality && v < p->views; v++) {
        if (v >= 8 && v < p->views - 8 && v % stride)
            continue;
        quality[v] = (unsigned char)find_partners(p, v, step, partner, error);
        count[quality[v]]++;
    }
    *best = count[BRACKETED] ? BRACKETED : count[EXTRAPOLATED] ? EXTRAPOLATED : NO_PARTNER;
    int64_t every = count[*best] / PAIRS_MAX + 1;
    for (int64_t v = 0; quality && v < p->views; v++)
        if (quality[v] == *best && seen++ % every == 0)
            chosen[kept++] = v;
    free(quality);
    return kept;
}

struct match {
    double error, shift, score;
};

/* Matches all pairs within `reach` of half a turn, as in a scan over 180 degrees that stops one
 * step short: its first views against its last. At most PAIRS_MAX; returns their number. */
static int64_t match_ends(const struct center_search *s, double reach, struct match out[PAIRS_MAX])
{
    const struct center_views *p = s->p;
    int64_t n = 0, ends = p->views > 4096 ? 16 : p->views;
    for (int64_t a = 0; a < ends; a++)
        for (int64_t b = p->views > 4096 ? p->views - ends : a + 1; b < p->views; b++) {
            double e = nearest_turn((double)p->angles[b] - (double)p->angles[a] - M_PI);
            if (fabs(e) > reach || n == PAIRS_MAX)
                continue;
            /* The smaller angle first: exchanged, the error changes sign and the match does not. */
            int ordered = p->angles[a] <= p->angles[b];
            out[n].error = ordered ? e : -e;
            out[n].shift = pair_match(s, ordered ? a : b, ordered ? b : a, &out[n].score);
            n++;
        }
    return n;
}

/* Least-squares line through shift over error, read at no error. */
static double match_intercept(const struct match *m, int64_t n)
{
    double e = 0, x = 0, ee = 0, ex = 0;
    for (int64_t i = 0; i < n; i++) {
        e += m[i].error / (double)n;
        x += m[i].shift / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        ee += (m[i].error - e) * (m[i].error - e);
        ex += (m[i].error - e) * (m[i].shift - x);
    }
    return ee > 0 ? x - e * ex / ee : x;
}

/* Pairs further apart than this are no longer alike enough for a line, closer ones add little but
 * noise. */
#define REACH (5 * M_PI / 180)

static int64_t search_ends(const struct center_search *s, double step, double *shift,
                           double scores[PAIRS_MAX])
{
    struct match m[PAIRS_MAX];
    int64_t n = match_ends(s, fmax(2.02 * step, fmin(8.05 * step, REACH)), m);
    *shift = match_intercept(m, n);
    for (int64_t i = 0; i < n; i++)
        scores[i] = m[i].score;
    return n;
}

static enum err search_pairs(const struct center_search *s, double *center, double *score)
{
    const struct center_views *p = s->p;
    double step = mean_step(p), shifts[PAIRS_MAX], scores[PAIRS_MAX], error[2], shift = 0;
    int64_t chosen[PAIRS_MAX], partner[2];
    enum quality quality;
    int64_t n = choose_views(p, step, &quality, chosen);
    FAIL_IF(quality == NO_PARTNER, ERR_INPUT,
            "the rotation centre cannot be found: no two views are 180 degrees apart (within one "
            "step); give "
            "`center`");
    if (quality == BRACKETED) {
        for (int64_t i = 0; i < n; i++) {
            find_partners(p, chosen[i], step, partner, error);
            shifts[i] = match_view(s, chosen[i], partner, error, step, &scores[i]);
        }
        shift = double_median(shifts, n);
    } else {
        n = search_ends(s, step, &shift, scores);
    }
    *center = shift / 2;
    *score = n ? fmax(0, fmin(1, double_median(scores, n))) : 0;
    FAIL_IF(!(*score > 0), ERR_INPUT,
            "the rotation centre cannot be found: views 180 degrees apart are not alike; give "
            "`center`");
    return ERR_OK;
}

enum err center_registration(const struct center_views *p, double *center, double *score)
{
    FAIL_IF(p->channels < CHANNELS_MIN, ERR_INPUT,
            "the rotation centre cannot be found with fewer than %d channels; give `center`",
            CHANNELS_MIN);
    struct center_search s = {.p = p, .row_step = p->rows / ROWS_MAX + (p->rows % ROWS_MAX != 0)};
    void *profiles;
    size_t bytes;
    s.rows = (p->rows + s.row_step - 1) / s.row_step;
    TRY(mem_size("profiles", 2, p->channels, 1, sizeof(double), &bytes));
    TRY(mem_alloc("profiles", bytes, &profiles));
    s.a = profiles;
    s.b = s.a + p->channels;
    enum err e = search_pairs(&s, center, score);
    mem_free(profiles);
    return e;
}
