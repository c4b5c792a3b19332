/* MBIRJAX's windows of taps, and the range of magnifications over a volume. */
#include <math.h>

#include "host/geom/moves.h"
#include "host/geom/windows.h"

#define RADIUS_MAX                                                                                 \
    50000 /* what a tile can hold; ct_model_resolve refuses pitches beyond 1e5 cells               \
           */

static int window_radius(double cells)
{
    double r = ceil(ceil(cells) / 2);
    return r >= 0 && r < RADIUS_MAX ? (int)r : RADIUS_MAX;
}

/* Rows are voxel-driven in both directions: the window holds the whole footprint, and so do the
 * slices under a row. */
static struct tap_windows multiaxis_windows(const struct scan *s, const struct volume *v)
{
    double highest = 0, widest = 0;
    for (int64_t i = 0; i < s->views; i++) {
        const double rows = moves_rows_per_voxel(s, v, i);
        highest = fmax(highest, rows);
        widest = fmax(widest, (rows + 1) / moves_rows_per_slice(s, v, i));
    }
    const double across = fmax(v->delta, volume_delta_row(v)) / s->delta_channel;
    return (struct tap_windows){window_radius(fmax(ceil(across), ceil(highest - 1e-9))),
                                window_radius(widest + 2)};
}

/* The same number of rows, channels and slices; rows of the volume lie along the rays. */
static struct tap_windows translation_windows(const struct scan *s, const struct volume *v)
{
    double least, most;
    moves_depth(s, &least, &most);
    const double nearest = s->source_iso - 0.5 * (double)v->rows * volume_delta_row(v) - most;
    const double pitch = fmax(v->delta, volume_delta_slice(v));
    const int taps =
        window_radius(pitch * s->source_detector / nearest / fmin(s->delta_row, s->delta_channel));
    return (struct tap_windows){taps, taps};
}

struct tap_windows tap_windows(const struct scan *s, const struct volume *v)
{
    const double dy = volume_delta_row(v), dz = volume_delta_slice(v);
    if (s->beam == BEAM_PARALLEL)
        return (struct tap_windows){window_radius(fmax(v->delta, dy) / s->delta_channel), 0};
    if (s->moves)
        return scan_is_multiaxis(s) ? multiaxis_windows(s, v) : translation_windows(s, v);
    const int parallel = isinf(s->source_detector);
    const double rho = 0.5 * fmax((double)v->cols * v->delta, (double)v->rows * dy);
    const double near = parallel ? 1 : s->source_detector / (s->source_iso - rho);
    const double far = parallel ? 1 : s->source_detector / (s->source_iso + rho);
    const double cell = fmin(s->delta_row, s->delta_channel);
    return (struct tap_windows){window_radius(fmax(fmax(v->delta, dy), dz) * near / cell),
                                window_radius(cell / (far * fmin(fmin(v->delta, dy), dz)))};
}

void magnification_range(const struct scan *s, const struct volume *v, double *least, double *most)
{
    *least = *most = 1;
    if (s->beam == BEAM_PARALLEL)
        return;
    const double half_rows = 0.5 * (double)(v->rows - 1) * volume_delta_row(v);
    const double at_axis = 1 / scan_magnification(s);
    double nearest, farthest;
    if (scan_is_translation(s)) {
        moves_depth(s, &nearest, &farthest);
        *least = 1 / (at_axis + (half_rows + farthest) / s->source_detector);
        *most = 1 / (at_axis - (half_rows - nearest) / s->source_detector);
        return;
    }
    const double half_cols = 0.5 * (double)(v->cols - 1) * v->delta;
    const double reach =
        v->ror == ROR_ELLIPSE ? fmax(half_rows, half_cols) : hypot(half_rows, half_cols);
    const double change = reach / s->source_detector;
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
    if (!scan_is_multiaxis(s))
        return;
    *least = INFINITY;
    *most = 0;
    for (int64_t i = 0; i < s->views; i++) {
        const double rows = moves_rows_per_slice(s, v, i);
        *least = fmin(*least, rows);
        *most = fmax(*most, rows);
    }
}
