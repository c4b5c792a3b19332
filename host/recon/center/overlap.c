/* Views of a full turn matched with their mirror images: the overlap of two halves, and the tilt of
 * the axis. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/prepare_math.h"
#include "host/recon/center/center.h"

#define OVERLAP_LEAST 8
#define PAIRS_MAX     24
#define ROWS_MAX      64

/* Correlation of a[n] and b[shift - n] over pairs and rows, each row less its mean; `margin` rows
 * at either end are left out. */
static double overlap_correlation(const struct center_views *p, int64_t shift, int64_t margin)
{
    const int64_t half = p->views / 2, n = p->channels;
    const int64_t first = shift < n ? 0 : shift - n + 1, last = shift - first;
    const int64_t pair_step = half / PAIRS_MAX + 1, row_step = p->rows / ROWS_MAX + 1;
    double ab = 0, aa = 0, bb = 0;
    for (int64_t v = 0; v < half; v += pair_step)
        for (int64_t r = margin; r < p->rows - margin; r += row_step) {
            const float *a = p->y + (v * p->rows + r) * n;
            const float *b = p->y + ((v + half) * p->rows + r) * n + shift;
            double sa = 0, sb = 0, sab = 0, saa = 0, sbb = 0;
            for (int64_t i = first; i <= last; i++) {
                const double x = (double)a[i], y = (double)b[-i];
                sa += x;
                sb += y;
                sab += x * y;
                saa += x * x;
                sbb += y * y;
            }
            const double count = (double)(last - first + 1);
            ab += sab - sa * sb / count;
            aa += saa - sa * sa / count;
            bb += sbb - sb * sb / count;
        }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static enum err overlap_check_turn(const struct center_views *p)
{
    const double covered = fabs((double)p->angles[p->views - 1] - (double)p->angles[0]);
    const double step = covered / (double)(p->views - 1);
    FAIL_IF(p->views < 4 || p->channels < 4 * OVERLAP_LEAST, ERR_INPUT,
            "halves of a turn can be joined from 4 views and %d channels on", 4 * OVERLAP_LEAST);
    FAIL_IF(fabs(covered + 0.5 * step - 2 * M_PI) > 1.6 * step, ERR_INPUT,
            "halves of a turn can be joined where the views cover 360 degrees, these cover %.1f",
            covered * 180 / M_PI);
    return ERR_OK;
}

enum err center_overlap(const struct center_views *p, double *overlap, int *end, double *score)
{
    const int64_t n = p->channels;
    const int64_t least = OVERLAP_LEAST > n / 32 ? OVERLAP_LEAST : n / 32;
    int64_t best = n - 1;
    *score = -1;
    TRY(overlap_check_turn(p));
    for (int64_t shift = least - 1; shift <= 2 * n - 1 - least; shift++) {
        const double value = overlap_correlation(p, shift, 0);
        if (value > *score) {
            *score = value;
            best = shift;
        }
    }
    const double left = overlap_correlation(p, best - 1, 0),
                 right = overlap_correlation(p, best + 1, 0);
    const double bend = left - 2 * *score + right;
    const double shift =
        (double)best + (bend < 0 ? fmax(-0.5, fmin(0.5, (left - right) / (2 * bend))) : 0);
    *end = shift > (double)(n - 1) ? 1 : -1;
    *overlap = *end > 0 ? 2 * (double)n - 1 - shift : shift + 1;
    FAIL_IF(!(*score > 0.3), ERR_INPUT,
            "no overlap is found: views half a turn apart match by %.2f only; give the overlap in "
            "channels",
            *score);
    return ERR_OK;
}

#define TILT_MOST  5.0 /* degrees */
#define SMOOTHINGS 6   /* standard deviation 1.7 */

/* Two views about half a turn apart, and the same turned by a trial angle. */
struct turned_pair {
    struct center_views views, turned;
    float *y, *to; /* (2, rows, channels) */
    int64_t shift; /* where they match without a turn */
};

/* The pair nearest to half a turn. */
static void choose_pair(const struct center_views *p, int64_t out[2])
{
    double best = (double)INFINITY;
    for (int64_t a = 0; a < p->views; a++)
        for (int64_t b = a + 1; b < p->views; b++) {
            const double e = fabs(fabs((double)p->angles[b] - (double)p->angles[a]) - M_PI);
            if (e >= best)
                continue;
            best = e;
            out[0] = a;
            out[1] = b;
        }
}

/* The view at exactly half a turn from the first, on the line through its partner and that one's
 * neighbour: an angle error moves what lies in different rows by different amounts. */
static void exact_partner(const struct center_views *p, const int64_t pair[2], float *out)
{
    const int64_t view = p->rows * p->channels, near = pair[1];
    const double turn = p->angles[near] > p->angles[pair[0]] ? M_PI : -M_PI;
    const double at = (double)p->angles[pair[0]] + turn - (double)p->angles[near];
    const int64_t other = near + 1 < p->views ? near + 1 : near - 1;
    const double step = (double)p->angles[other] - (double)p->angles[near];
    const double share = fabs(step) > 0 ? at / step : 0;
    for (int64_t i = 0; i < view; i++) {
        const double a = (double)p->y[near * view + i], b = (double)p->y[other * view + i];
        out[i] = (float)(a + share * (b - a));
    }
}

/* Means of 1 2 1 along an axis: a turn between samples smooths too, and must not be preferred for
 * that. */
static void overlap_smooth(float *x, int64_t lines, int64_t n, int64_t line_step, int64_t step)
{
    for (int64_t l = 0; l < lines; l++) {
        float *at = x + l * line_step, before = at[0];
        for (int64_t i = 0; i < n; i++) {
            const float here = at[i * step], after = i + 1 < n ? at[(i + 1) * step] : here;
            at[i * step] = 0.25f * (before + 2 * here + after);
            before = here;
        }
    }
}

static void turn_views(const struct turned_pair *p, double angle)
{
    struct prepare_step step = {.kind = PREPARE_TILT,
                                .in = {p->views.views, p->views.rows, p->views.channels},
                                .cosine = cos(angle),
                                .sine = sin(angle)};
    const struct prepare_job j = prepare_job_of(&step, p->y, NULL, NULL);
    const int64_t view = j.rows * j.channels;
    for (int64_t i = 0; i < p->views.views * j.rows; i++)
        for (int64_t c = 0; c < j.channels; c++)
            p->to[i * j.channels + c] = prepare_tilted(&j, p->y + i / j.rows * view, i % j.rows, c);
}

/* The best correlation near the shift, between shifts too. */
static double match_turned(const struct turned_pair *p, double angle)
{
    const int64_t n = p->views.channels;
    /* Rows that a turn fills from beyond the view. */
    const double beyond = 0.5 * (double)n * sin(TILT_MOST * M_PI / 180);
    const int64_t margin = (int64_t)fmin(beyond, (double)p->views.rows / 4);
    double best = -2, value[3] = {0};
    int64_t at = p->shift;
    turn_views(p, angle);
    for (int64_t s = p->shift - 6; s <= p->shift + 6; s++) {
        const double found =
            s > n / 4 && s < 2 * n - n / 4 ? overlap_correlation(&p->turned, s, margin) : -1;
        if (found > best) {
            best = found;
            at = s;
        }
    }
    for (int i = 0; i < 3; i++)
        value[i] = overlap_correlation(&p->turned, at - 1 + i, margin);
    const double bend = value[0] - 2 * value[1] + value[2], slope = 0.5 * (value[2] - value[0]);
    return bend < 0 ? value[1] - slope * slope / (2 * bend) : value[1];
}

/* The angle of the best match among steps around `middle`; at the end the parabola's vertex. */
static double search_tilt(const struct turned_pair *p)
{
    double middle = 0;
    for (double step = 1, half = TILT_MOST; step > 0.01; half = step, step /= 5) {
        double best = -2, chosen = middle;
        for (double a = middle - half; a <= middle + half + 1e-9; a += step) {
            const double found = match_turned(p, a * M_PI / 180);
            if (found > best) {
                best = found;
                chosen = a;
            }
        }
        middle = chosen;
    }
    const double step = 0.04, here = match_turned(p, middle * M_PI / 180);
    const double left = match_turned(p, (middle - step) * M_PI / 180);
    const double right = match_turned(p, (middle + step) * M_PI / 180);
    const double bend = left - 2 * here + right;
    return (middle + (bend < 0 ? step * fmax(-1, fmin(1, (left - right) / (2 * bend))) : 0)) *
           M_PI / 180;
}

enum err center_tilt(const struct center_views *p, double *angle)
{
    const int64_t view = p->rows * p->channels;
    int64_t pair[2] = {0, 1};
    double center, score;
    TRY(center_registration(p, &center, &score));
    FAIL_IF(p->rows < 4 || p->views < 4, ERR_INPUT,
            "the tilt of the axis is found from 4 rows and 4 views on");
    choose_pair(p, pair);
    float *block = malloc((size_t)(4 * view) * sizeof *block);
    FAIL_IF(!block, ERR_MEMORY, "no memory left for views of the tilt");
    struct turned_pair s = {.y = block, .to = block + 2 * view};
    s.views = s.turned = (struct center_views){2, p->rows, p->channels, s.y, NULL};
    s.turned.y = s.to;
    s.shift = (int64_t)floor(2 * center + 0.5);
    memcpy(s.y, p->y + pair[0] * view, (size_t)view * sizeof *s.y);
    exact_partner(p, pair, s.y + view);
    for (int k = 0; k < 2 * SMOOTHINGS; k++) {
        float *y = s.y + k % 2 * view;
        overlap_smooth(y, p->rows, p->channels, p->channels, 1);
        overlap_smooth(y, p->channels, p->rows, 1, p->channels);
    }
    *angle = search_tilt(&s);
    free(block);
    return ERR_OK;
}
