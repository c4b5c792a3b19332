/* Automatic volumes and checks of translation and multi-axis scans. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "host/geom/moves.h"

/* A slice is then 14 times as high as the rows between it and the next one. */
#define ELEVATION_MOST 1.5

/* From here on MBIRJAX says that its footprints are coarse. */
#define ELEVATION_COARSE 0.7853981633974483

#define SHIFT_MOST 1e12

static enum err check_elevations(const struct scan *s)
{
    double most = 0;
    for (int64_t i = 0; i < s->views; i++) {
        const double elevation = fabs((double)s->moves[i].elevation);
        FAIL_IF(!(elevation <= ELEVATION_MOST), ERR_INPUT,
                "angles[%" PRId64 "] has the elevation %g: it must lie within -%g to %g radians", i,
                (double)s->moves[i].elevation, ELEVATION_MOST, ELEVATION_MOST);
        most = fmax(most, elevation);
    }
    if (most > ELEVATION_COARSE)
        log_warn("elevations reach %.3g degrees: beyond 45 the footprints are coarse",
                 most * 180 / M_PI);
    FAIL_IF(s->z_shifts, ERR_INPUT, "helical_z_shifts: multi-axis scans have none; leave them out");
    return ERR_OK;
}

static enum err check_shifts(const struct scan *s)
{
    FAIL_IF(!s->z_shifts, ERR_INPUT, "translation_vectors are missing: give [x, y, z] per view");
    for (int64_t i = 0; i < s->views; i++) {
        const double v[3] = {(double)s->moves[i].x, (double)s->moves[i].y, (double)s->z_shifts[i]};
        for (int k = 0; k < 3; k++)
            FAIL_IF(!(fabs(v[k]) <= SHIFT_MOST), ERR_INPUT,
                    "translation_vectors[%" PRId64 "][%d] is %g: it must be a number of at most %g",
                    i, k, v[k], SHIFT_MOST);
        FAIL_IF(s->angles[i] != 0, ERR_INPUT,
                "angles[%" PRId64 "] is %g: a translation scan does not turn; leave angles out", i,
                (double)s->angles[i]);
    }
    return ERR_OK;
}

enum err moves_example(struct scan *s, double reach, double elevation)
{
    const int64_t across = (int64_t)fmax(2, ceil(sqrt((double)s->views)));
    const double step = 2 * reach / (double)(across - 1);
    struct view_move *moves = calloc((size_t)s->views + 1, sizeof *moves);
    float *z = reach > 0 ? calloc((size_t)s->views + 1, sizeof *z) : NULL;
    s->moves = moves;
    s->z_shifts = z;
    FAIL_IF(!moves || (reach > 0 && !z), ERR_MEMORY, "no memory for the moves of %" PRId64 " views",
            s->views);
    for (int64_t i = 0; i < s->views; i++) {
        moves[i].elevation = (float)elevation;
        moves[i].x = (float)(z ? step * (double)(i % across) - reach : 0);
        if (z)
            z[i] = (float)(step * (double)(i / across) - reach);
    }
    if (!z)
        s->source_detector = s->source_iso = (double)INFINITY;
    return ERR_OK;
}

enum err moves_check(const struct scan *s)
{
    FAIL_IF(s->beam != BEAM_CONE, ERR_INTERNAL, "moves of a parallel beam");
    FAIL_IF(s->curved, ERR_INPUT,
            "use_curved_detector: only cone beams have it; leave it out or set it to false");
    return scan_is_multiaxis(s) ? check_elevations(s) : check_shifts(s);
}

/* JAX rounds to float32 before it takes the ceiling or the floor; 0 is refused later. */
static int64_t moves_clipped_size(float size)
{
    return size >= 1 && size < 0x1p40f ? (int64_t)size : 0;
}

static void multiaxis_automatic(const struct scan *s, struct volume *v)
{
    const double across = (double)s->channels * s->delta_channel;
    float least = 1;
    for (int64_t i = 0; i < s->views; i++)
        least = fminf(least, fabsf(cosf(s->moves[i].elevation)));
    const float high = (float)((double)s->rows * s->delta_row / 2) / fmaxf(least, 0.1f);
    if (v->delta == 0)
        v->delta = s->delta_channel;
    if (!v->rows)
        v->rows = moves_clipped_size(floorf((float)(across / volume_delta_row(v))));
    if (!v->cols)
        v->cols = moves_clipped_size(floorf((float)(across / v->delta)));
    if (!v->slices)
        v->slices = moves_clipped_size(floorf(2 * high / (float)volume_delta_slice(v)));
}

/* Largest less smallest shift along x, y and z. */
static void cube_of(const struct scan *s, float cube[3])
{
    for (int k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < s->views; i++) {
            const float at = k == 0 ? s->moves[i].x : k == 1 ? s->moves[i].y : s->z_shifts[i];
            low = fminf(low, at);
            high = fmaxf(high, at);
        }
        cube[k] = high - low;
    }
}

/* Rows as far apart as views of the middle tell them apart, and so many of them that there are
 * twice as many unknowns as measurements. In float32, as JAX computes it. */
static void translation_automatic(const struct scan *s, struct volume *v)
{
    const float M = (float)scan_magnification(s), D = (float)s->source_detector;
    const float rows = (float)s->rows, channels = (float)s->channels;
    const float row_pitch = (float)s->delta_row / M, channel_pitch = (float)s->delta_channel / M;
    const float pitch = fmaxf(row_pitch, channel_pitch);
    const float along = (float)((double)s->channels * s->delta_channel) / 4 / D;
    const float up = (float)((double)s->rows * s->delta_row) / 4 / D;
    float cube[3];
    cube_of(s, cube);
    if (v->delta == 0)
        v->delta = (double)pitch;
    if (v->row_aspect == 0)
        v->row_aspect =
            (double)fmaxf(fmaxf(4 * row_pitch / along, 4 * channel_pitch / up), pitch) / v->delta;
    const float cols = ceilf(cube[0] / (float)v->delta);
    const float slices = ceilf(cube[2] / (float)volume_delta_slice(v));
    const float seen = (cols + rows) * (slices + channels) / (float)s->views;
    const float room = ((float)s->source_iso - cube[1]) / (float)volume_delta_row(v);
    if (!v->rows)
        v->rows = moves_clipped_size(fminf(2 * ceilf(channels * rows / seen), floorf(room)));
    if (!v->cols)
        v->cols = moves_clipped_size(cols);
    if (!v->slices)
        v->slices = moves_clipped_size(slices);
}

void moves_automatic(const struct scan *s, struct volume *v)
{
    if (scan_is_multiaxis(s))
        multiaxis_automatic(s, v);
    else
        translation_automatic(s, v);
}
