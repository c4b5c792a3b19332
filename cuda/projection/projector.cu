/* A scan and a volume made ready for kernels: geometry in their terms, table of views on the
 * device. */
#include <stdlib.h>

#include "cuda/common/projection.cuh"
#include "cuda/projection/project.cuh"

extern "C" {
#include "host/geom/moves.h"
}

/* Largest magnification of any pixel: the Hessian visits the corners that the mask leaves out. */
static double geometry_largest_gain(const struct scan *s, const struct volume *v)
{
    struct volume unmasked = *v;
    double smallest, largest;
    unmasked.ror = ROR_NONE;
    magnification_range(s, &unmasked, &smallest, &largest);
    return largest;
}

/* In translation scans a footprint is that of the columns alone. */
static double shadow_row_of(const struct scan *s, const struct volume *v)
{
    return scan_is_translation(s) ? 0 : volume_delta_row(v);
}

/* Taps that hold every footprint, W + 1 cells wide, or the whole window where that is smaller. */
static int geometry_count_taps(const struct scan *s, const struct volume *v, int window)
{
    const double widest = fmax(v->delta, shadow_row_of(s, v)) / s->delta_channel;
    double stretch = 1; /* magnification, and on a flat detector 1/cos of the fan angle */
    if (s->beam == BEAM_CONE) {
        const double gain = geometry_largest_gain(s, v);
        const double tangent = gain / scan_magnification(s) - 1; /* = gain * reach / D */
        stretch = gain * (s->curved || s->moves ? 1 : sqrt(1 + tangent * tangent));
    }
    return (int)fmin(ceil(widest * stretch - 1e-9) + 1, 2.0 * window + 1);
}

/* Binary places of a position: as many as leave room for the furthest pixel, between 32 and 40. */
#define MOST_PLACES  40
#define LEAST_PLACES 32

/* Bounds from below the channels between the middle of the detector and the furthest pixel of any
 * view. */
static double reach_of(const struct scan *s, const struct volume *v)
{
    const double reach =
        hypot(v->delta * (double)v->cols, volume_delta_row(v) * (double)v->rows) / 2;
    return (reach / s->delta_channel + fabs(s->channel_offset) / s->delta_channel +
            (double)s->channels + 16);
}

static int geometry_places(const struct scan *s, const struct volume *v)
{
    const int most = 62 - (int)ceil(log2(reach_of(s, v)));
    return s->beam == BEAM_CONE || most > MOST_PLACES ? MOST_PLACES : most;
}

static void geometry_set_cone(const struct scan *s, const struct volume *v, struct geometry *g)
{
    const double dz = volume_delta_slice(v);
    double lowest;
    g->fan_channels = s->source_detector / s->delta_channel;
    g->inverse_fan_channels = 1 / g->fan_channels;
    g->cell_tangent = (float)g->inverse_fan_channels;
    g->inverse_d = (float)(1 / s->source_detector);
    g->rows_per_slice = dz / s->delta_row;
    g->slices_per_row = s->delta_row / dz;
    rows_per_slice(s, v, &lowest, &g->highest_slice);
    g->row_centre = s->row_offset / s->delta_row + 0.5 * (double)(s->rows - 1);
    g->dz = (float)dz;
}

/* From the first channel of a tile of 8 x 8 pixels to the last one: at most so many. */
static int tile_span_of(const struct scan *s, const struct volume *v, int taps)
{
    const double diagonal = 7 * hypot(v->delta, volume_delta_row(v)) / s->delta_channel;
    return (int)fmin(ceil(diagonal) + 1 + taps, 1e6);
}

struct geometry geometry_of(const struct scan *s, const struct volume *v)
{
    const struct tap_windows windows = tap_windows(s, v);
    struct geometry g = {};
    g.cone = s->beam == BEAM_CONE;
    g.curved = s->curved;
    g.tilted = scan_is_multiaxis(s);
    g.taps = geometry_count_taps(s, v, windows.back);
    g.views = (int)s->views;
    g.rows = (int)s->rows;
    g.channels = (int)s->channels;
    g.image_rows = (int)v->rows;
    g.cols = (int)v->cols;
    g.slices = (int)v->slices;
    g.window_back = windows.back;
    g.window_forward = windows.forward;
    g.shift = geometry_places(s, v);
    g.scale = ldexp(1, g.shift);
    g.furthest = ldexp(1, 62);
    g.delta = (float)v->delta;
    g.shadow_row = (float)shadow_row_of(s, v);
    g.pixel_area = (float)(v->delta * volume_delta_row(v));
    g.inverse_cell = (float)(1 / s->delta_channel);
    g.first_offset = 0.5f * (float)g.taps - 1;
    g.first_centre = s->channel_offset / s->delta_channel + 0.5 * (double)(s->channels - 1) -
                     (double)g.first_offset;
    if (g.cone)
        geometry_set_cone(s, v, &g);
    else
        g.tile_span = tile_span_of(s, v, g.taps);
    return g;
}

/* Channels at magnification 1 that a step of i and one of j moves a pixel; the middle pixel. */
struct steps {
    double i, j, i0, j0;
};

static struct steps geometry_steps(const struct scan *scan, const struct volume *v, double c,
                                   double s)
{
    return steps{-s * volume_delta_row(v) / scan->delta_channel, c * v->delta / scan->delta_channel,
                 0.5 * (double)(v->rows - 1), 0.5 * (double)(v->cols - 1)};
}

static struct parallel_pose parallel_pose_of(const struct geometry *g, const struct scan *scan,
                                             const struct volume *v, double c, double s)
{
    const struct steps step = geometry_steps(scan, v, c, s);
    const double from = g->first_centre - step.i * step.i0 - step.j * step.j0;
    const double shadow = fmax(fabs(c) * v->delta, fabs(s) * volume_delta_row(v));
    return parallel_pose{llrint(from * g->scale), llrint(step.i * g->scale),
                         llrint(step.j * g->scale), (float)(shadow / scan->delta_channel),
                         (float)(v->delta * volume_delta_row(v) / shadow)};
}

static struct cone_pose cone_pose_of(const struct scan *scan, const struct volume *v, double c,
                                     double s, double shift)
{
    const struct steps step = geometry_steps(scan, v, c, s);
    const double dz = volume_delta_slice(v), away = scan->source_detector;
    struct cone_pose p = {};
    p.x_i = step.i;
    p.x_j = step.j;
    p.x = -step.i * step.i0 - step.j * step.j0;
    p.gain_i = -c * volume_delta_row(v) / away;
    p.gain_j = -s * v->delta / away;
    p.gain = 1 / scan_magnification(scan) - p.gain_i * step.i0 - p.gain_j * step.j0;
    p.bottom = (shift - v->slice_offset) / dz + 0.5 * (double)v->slices;
    p.z = (float)(v->slice_offset - dz * 0.5 * (double)(v->slices - 1) - shift);
    p.cos = (float)c;
    p.sin = (float)s;
    return p;
}

/* The object lies at x - move, y - move. */
static void move_pose(const struct scan *s, const struct view_move *m, struct cone_pose *p)
{
    p->x -= (double)m->x / s->delta_channel;
    p->gain += (double)m->y / s->source_detector;
}

static void tilt_pose(const struct scan *s, const struct volume *v, int64_t view, double cosine,
                      double sine, struct cone_pose *p)
{
    const double rise = sin((double)s->moves[view].elevation) / s->delta_row;
    p->rows = moves_rows_per_slice(s, v, view);
    p->slices = 1 / p->rows;
    p->under = moves_rows_per_voxel(s, v, view);
    p->stretch = (float)(volume_delta_slice(v) / s->delta_row / p->under);
    p->rise_i = rise * cosine * volume_delta_row(v);
    p->rise_j = rise * sine * v->delta;
    p->rise = -0.5 * (p->rise_i * (double)(v->rows - 1) + p->rise_j * (double)(v->cols - 1));
}

static enum err put_views(struct cuda_backend *be, const struct scan *s, const struct volume *v,
                          struct projector *p)
{
    const size_t bytes = (size_t)s->views * sizeof(union view_pose);
    union view_pose *table = static_cast<union view_pose *>(calloc(1, bytes));
    FAIL_IF(!table, ERR_MEMORY, "no memory for the table of %lld views", (long long)s->views);
    for (int64_t i = 0; i < s->views; i++) {
        const double cosine = cos((double)s->angles[i]), sine = sin((double)s->angles[i]);
        if (!p->g.cone) {
            table[i].parallel = parallel_pose_of(&p->g, s, v, cosine, sine);
            continue;
        }
        table[i].cone = cone_pose_of(s, v, cosine, sine, s->z_shifts ? (double)s->z_shifts[i] : 0);
        if (p->g.tilted)
            tilt_pose(s, v, i, cosine, sine, &table[i].cone);
        else if (s->moves)
            move_pose(s, &s->moves[i], &table[i].cone);
    }
    enum err e = workspace_hold(be, "the table of views", bytes, &be->views);
    if (e == ERR_OK) {
        p->table = be->views;
        be->views = workspace{};
        p->views = static_cast<union view_pose *>(p->table.ptr);
        e = device_put(be, p->views, table, bytes);
    }
    free(table);
    return e;
}

enum err cuda_projector_create(struct backend *be, const struct scan *s, const struct volume *v,
                               struct projector **out)
{
    FAIL_IF(geometry_places(s, v) < LEAST_PLACES, ERR_INPUT,
            "pixels lie up to %.3g channels from the middle of the detector; the GPU computes up "
            "to 2^30: use smaller voxels, or `backend=cpu`",
            reach_of(s, v));
    struct projector *p = static_cast<struct projector *>(calloc(1, sizeof *p));
    FAIL_IF(!p, ERR_MEMORY, "no memory for a projector");
    p->g = geometry_of(s, v);
    p->serial = ++device_of(be)->projectors;
    const enum err e = put_views(device_of(be), s, v, p);
    p->g.view = p->views;
    if (e)
        cuda_projector_free(be, p);
    else
        *out = p;
    return e;
}

void cuda_projector_free(struct backend *be, struct projector *p)
{
    if (!p)
        return;
    caches_forget(device_of(be), p->serial);
    workspace_drop(device_of(be), &device_of(be)->views);
    device_of(be)->views = p->table;
    free(p);
}
