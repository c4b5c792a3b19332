/* Views of a full turn matched with their mirror images: the overlap of two halves, and the tilt of
 * the axis. */
#include <math.h>
#include <stdlib.h>

#include "host/recon/center/center.h"

#define OVERLAP_LEAST 8
#define PAIRS_MAX     24
#define ROWS_MAX      16
#define BANDS         8

/* Correlation of a[n] and b[shift - n] over all pairs and rows: each row less its mean. */
static double correlation(const struct center_views *p, int64_t shift)
{
    const int64_t half = p->views / 2, n = p->channels;
    const int64_t first = shift < n ? 0 : shift - n + 1, last = shift - first;
    const int64_t pair_step = half / PAIRS_MAX + 1, row_step = p->rows / ROWS_MAX + 1;
    double ab = 0, aa = 0, bb = 0;
    for (int64_t v = 0; v < half; v += pair_step)
        for (int64_t r = 0; r < p->rows; r += row_step) {
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

static enum err check_turn(const struct center_views *p)
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
    TRY(check_turn(p));
    for (int64_t shift = least - 1; shift <= 2 * n - 1 - least; shift++) {
        const double value = correlation(p, shift);
        if (value > *score) {
            *score = value;
            best = shift;
        }
    }
    const double left = correlation(p, best - 1), right = correlation(p, best + 1);
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

/* A line through the centres of the bands; its slope is the tangent of the tilt. */
enum err center_tilt(const struct center_views *p, double *angle)
{
    const int64_t bands = p->rows < 2 * BANDS ? p->rows / 2 : BANDS;
    double x = 0, y = 0, xx = 0, xy = 0, score;
    FAIL_IF(bands < 2, ERR_INPUT, "the tilt of the axis is found from 4 rows on; there are %lld",
            (long long)p->rows);
    const int64_t pixels = p->views * p->channels, height = p->rows / bands;
    float *band = malloc((size_t)(pixels * height) * sizeof *band);
    FAIL_IF(!band, ERR_MEMORY, "no memory left for bands of rows");
    enum err e = ERR_OK;
    for (int64_t b = 0; !e && b < bands; b++) {
        for (int64_t v = 0; v < p->views; v++)
            for (int64_t i = 0; i < height * p->channels; i++)
                band[v * height * p->channels + i] =
                    p->y[(v * p->rows + b * height) * p->channels + i];
        const struct center_views part = {p->views, height, p->channels, band, p->angles};
        double center = 0;
        e = center_registration(&part, &center, &score);
        const double at = (double)(b * height) + 0.5 * (double)(height - 1);
        x += at;
        y += center;
        xx += at * at;
        xy += at * center;
    }
    free(band);
    const double n = (double)bands;
    *angle = -atan((xy - x * y / n) / (xx - x * x / n));
    return e;
}
