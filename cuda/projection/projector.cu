/* A scan and a volume made ready for kernels: geometry in their terms, table of views on the
 * device. */
#include <stdlib.h>

#include "cuda/common/projection.cuh"
#include "cuda/projection/project.cuh"

/* Largest magnification of any pixel: the Hessian visits the corners that the mask leaves out. */
static double largest_gain(const struct scan *s, const struct volume *v)
{
    struct volume unmasked = *v;
    double smallest, largest;
    unmasked.ror = ROR_NONE;
    magnification_range(s, &unmasked, &smallest, &largest);
    return largest;
}

/* Taps that hold every footprint, W + 1 cells wide, or the whole window where that is smaller. */
static int count_taps(const struct scan *s, const struct volume *v, int window)
{
    const double widest = fmax(v->delta, volume_delta_row(v)) / s->delta_channel;
    double stretch = 1; /* magnification, and on a flat detector 1/cos of the fan angle */
    if (s->beam == BEAM_CONE) {
        const double gain = largest_gain(s, v);
        const double tangent = gain / scan_magnification(s) - 1; /* = gain * reach / D */
        stretch = gain * (s->curved ? 1 : sqrt(1 + tangent * tangent));
    }
    return (int)fmin(ceil(widest * stretch - 1e-9) + 1, 2.0 * window + 1);
}

static void set_vertical(const struct scan *s, const struct volume *v, struct geometry *g)
{
    const double dz = volume_delta_slice(v), middle = 0.5 * (double)(v->slices - 1);
    g->rows_per_slice = dz / s->delta_row;
    g->row_centre = s->row_offset / s->delta_row + 0.5 * (double)(s->rows - 1);
    g->slice_zero = 0.5 * (double)v->slices - v->slice_offset / dz;
    g->slices_per_shift = 1 / dz;
    g->dz = dz;
    g->z_first = v->slice_offset - dz * middle;
    g->bias = ROUNDING;
}

struct geometry geometry_of(const struct scan *s, const struct volume *v)
{
    const struct tap_windows windows = tap_windows(s, v);
    struct geometry g = {};
    g.cone = s->beam == BEAM_CONE;
    g.curved = s->curved;
    g.taps = count_taps(s, v, windows.back);
    g.views = (int)s->views;
    g.rows = (int)s->rows;
    g.channels = (int)s->channels;
    g.cols = (int)v->cols;
    g.slices = (int)v->slices;
    g.window_back = windows.back;
    g.window_forward = windows.forward;
    g.delta = v->delta;
    g.delta_row = volume_delta_row(v);
    g.i0 = 0.5 * (double)(v->rows - 1);
    g.j0 = 0.5 * (double)(v->cols - 1);
    g.inverse_cell = 1 / s->delta_channel;
    g.centre = s->channel_offset / s->delta_channel + 0.5 * (double)(s->channels - 1);
    g.source_detector = s->source_detector;
    g.source_iso = s->source_iso;
    g.inverse_m = 1 / scan_magnification(s);
    g.inverse_d = g.cone ? 1 / s->source_detector : 0;
    if (g.cone)
        set_vertical(s, v, &g);
    return g;
}

static enum err put_views(struct cuda_backend *be, const struct scan *s, struct projector *p)
{
    const size_t bytes = (size_t)s->views * sizeof(struct view_pose);
    struct view_pose *table = static_cast<struct view_pose *>(malloc(bytes));
    FAIL_IF(!table, ERR_MEMORY, "no memory for the table of %lld views", (long long)s->views);
    for (int64_t i = 0; i < s->views; i++)
        table[i] = view_pose{cos((double)s->angles[i]), sin((double)s->angles[i]),
                             s->z_shifts ? (double)s->z_shifts[i] : 0};
    enum err e = workspace_hold(be, "the table of views", bytes, &be->views);
    if (e == ERR_OK) {
        p->table = be->views;
        be->views = workspace{};
        p->views = static_cast<struct view_pose *>(p->table.ptr);
        e = device_put(be, p->views, table, bytes);
    }
    free(table);
    return e;
}

enum err cuda_projector_create(struct backend *be, const struct scan *s, const struct volume *v,
                               struct projector **out)
{
    struct projector *p = static_cast<struct projector *>(calloc(1, sizeof *p));
    FAIL_IF(!p, ERR_MEMORY, "no memory for a projector");
    p->g = geometry_of(s, v);
    p->serial = ++device_of(be)->projectors;
    const enum err e = put_views(device_of(be), s, p);
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
