/* MBIRJAX's windows of taps, and the range of magnifications over a volume. */
#include <math.h>

#include "host/geom/windows.h"

#define RADIUS_MAX                                                                                 \
    50000 /* what a tile can hold; ct_model_resolve refuses pitches beyond 1e5 cells               \
           */

static int radius(double cells)
{
    double r = ceil(ceil(cells) / 2);
    return r >= 0 && r < RADIUS_MAX ? (int)r : RADIUS_MAX;
}

struct tap_windows tap_windows(const struct scan *s, const struct volume *v)
{
    const double dy = volume_delta_row(v), dz = volume_delta_slice(v);
    if (s->beam == BEAM_PARALLEL)
        return (struct tap_windows){radius(fmax(v->delta, dy) / s->delta_channel), 0};
    const int parallel = isinf(s->source_detector);
    const double rho = 0.5 * fmax((double)v->cols * v->delta, (double)v->rows * dy);
    const double near = parallel ? 1 : s->source_detector / (s->source_iso - rho);
    const double far = parallel ? 1 : s->source_detector / (s->source_iso + rho);
    const double cell = fmin(s->delta_row, s->delta_channel);
    return (struct tap_windows){radius(fmax(fmax(v->delta, dy), dz) * near / cell),
                                radius(cell / (far * fmin(fmin(v->delta, dy), dz)))};
}

void magnification_range(const struct scan *s, const struct volume *v, double *least, double *most)
{
    *least = *most = 1;
    if (s->beam == BEAM_PARALLEL)
        return;
    const double half_rows = 0.5 * (double)(v->rows - 1) * volume_delta_row(v);
    const double half_cols = 0.5 * (double)(v->cols - 1) * v->delta;
    const double reach =
        v->ror == ROR_ELLIPSE ? fmax(half_rows, half_cols) : hypot(half_rows, half_cols);
    const double at_axis = 1 / scan_magnification(s), change = reach / s->source_detector;
    *least = 1 / (at_axis + change);
    *most = at_axis - change > 1e-6 ? 1 / (at_axis - change) : 1e6;
}

void rows_per_slice(const struct scan *s, const struct volume *v, double *least, double *most)
{
    magnification_range(s, v, least, most);
    if (s->beam == BEAM_PARALLEL)
        return;
    const double scale = volume_delta_slice(v) / s->delta_row;
    *least *= scale;
    *most *= scale;
}
