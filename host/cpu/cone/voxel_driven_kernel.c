/* Voxel-driven cone back projection, inner loops: four views of a pixel at once, a vector of slices
 * each. */
#include <math.h>

#include "host/cpu/common/vec_window.h"
#include "host/cpu/cone/voxel_driven.h"

/* Rows per slice that windows of 32 and of 48 floats serve: 15 slices further, up to a row between
 * the window's start and the first slice, and the row after the last one. */
#define NARROW 1.99
#define WIDEST 3.06

static int64_t voxel_clamp(double value, int64_t low, int64_t high)
{
    return value < (double)low ? low : value > (double)high ? high : (int64_t)value;
}

static int64_t voxel_align_up(int64_t n)
{
    return (n + VEC - 1) / VEC * VEC;
}

/* Channel coordinate u / delta_channel and its weight: magnification^2 times the volume of a voxel
 * over the area of a cell, which is what the footprints of the matched pair sum up to but for the
 * obliqueness of the ray. */
static void voxel_find_footprints(const struct projector *p, int64_t view,
                                  const struct pixel_batch *b, struct voxel_footprints *out)
{
    const struct scan *s = &p->scan;
    const struct volume *v = &p->volume;
    const struct view_geometry *g = &p->views[view];
    const double dz = volume_delta_slice(v), cells = (double)s->channels;
    const double scale = v->delta * volume_delta_row(v) * dz / (s->delta_channel * s->delta_row);
    const double centre = s->channel_offset / s->delta_channel + 0.5 * (double)(s->channels - 1);
    const double middle = s->row_offset / s->delta_row + 0.5 * (double)(s->rows - 1);
    const double lowest = 0.5 * (double)(v->slices - 1) - (v->slice_offset - g->z_shift) / dz;
    const double inverse_m = 1 / p->magnification, inverse_d = 1 / s->source_detector;
    double at[BATCH];
    for (int q = 0; q < b->n; q++) {
        const double x = g->cos * b->x[q] - g->sin * b->y[q];
        const double y = g->sin * b->x[q] + g->cos * b->y[q];
        const double gain = 1 / (inverse_m - y * inverse_d);
        at[q] = s->curved ? x / (s->source_iso - y) : gain * x;
        out->width[q] = gain * dz / s->delta_row;
        out->row[q] = middle - out->width[q] * lowest;
        out->left[q] = (float)(gain * gain * scale);
    }
    for (int q = 0; s->curved && q < b->n; q++)
        at[q] = s->source_detector * atan(at[q]);
    for (int q = 0; q < b->n; q++) {
        const double channel = at[q] / s->delta_channel + centre, left = floor(channel);
        const int seen = left >= -1 && left < cells;
        const float weight = seen ? out->left[q] : 0, part = (float)(channel - left);
        out->column[q] = (int32_t)(seen ? left : cells) + p->taps; /* `cells`: guards */
        out->right[q] = part * weight;
        out->left[q] = (1 - part) * weight;
    }
}

/* A view of a pixel, in the form that the loop over slices takes; rows in units of
 * 2^-POSITION_BITS. */
struct voxel_ray {
    const float *column;
    const int32_t *cell, *fraction; /* of blocks of slices */
    vf left, right;
    vi lanes; /* rows that the slices of a block lie apart from its first */
};

/* Blocks of VEC slices from `first` on: the row before each block's first slice, and how far beyond
 * it that slice lies. Windows beside the detector hold zeros. In integers of 2^-32 rows: half the
 * time of float64. */
static void voxel_locate(double row, double width, int64_t first, int64_t blocks, int end,
                         int32_t *restrict fraction, int32_t *restrict cell)
{
    const double unit = 4294967296.0, far = 1 << 30, from = row + width * (double)first;
    const double start = from < -far ? -far : from > far ? far : from;
    const int64_t at = (int64_t)(start * unit), step = (int64_t)(width * VEC * unit);
    const int count = (int)blocks;
    for (int i = 0; i < count; i++) {
        const int64_t here = at + i * step;
        int32_t before = (int32_t)(here >> 32);
        before = before < -VOXEL_PAD ? -VOXEL_PAD : before;
        cell[i] = before > end ? end : before;
        fraction[i] = (int32_t)((uint32_t)here >> (32 - POSITION_BITS));
    }
}

VEC_INLINE vi spread(double width)
{
    vi lanes;
    for (int i = 0; i < VEC; i++)
        lanes[i] = i;
    return lanes * (int32_t)(width * (double)(1 << POSITION_BITS));
}

/* Interpolates for the slices of block i. */
VEC_INLINE vf interpolate(const struct voxel_ray *r, int64_t ld, int64_t i, int vectors)
{
    const float *column = r->column + r->cell[i];
    const struct blended w = blended_open(column, r->left, column + ld, r->right, vectors);
    vf part;
    vi index = position_split(r->lanes + r->fraction[i], &part);
    vf before = blended_get(&w, index, vectors), after = blended_get(&w, index + 1, vectors);
    return before + part * (after - before);
}

VEC_INLINE void add_rays(const struct voxel_ray *rays, int64_t ld, int64_t blocks, float *out,
                         int vectors)
{
    for (int64_t i = 0; i < blocks; i++) {
        vf sum = vf_load(out + i * VEC);
        for (int v = 0; v < VOXEL_VIEWS; v++)
            sum += interpolate(&rays[v], ld, i, vectors);
        vf_store(out + i * VEC, sum);
    }
}

/* Adds for any number of rows per slice. */
static void add_general(const struct projector *p, const struct voxel_footprints *f, int q,
                        const float *column, int64_t ld, float *out)
{
    for (int64_t k = 0; k < p->volume.slices; k++) {
        const double at = f->row[q] + f->width[q] * (double)k, before = floor(at);
        if (before < -1 || before >= (double)p->scan.rows)
            continue;
        const float *a = column + (int64_t)before, *b = a + ld, part = (float)(at - before);
        const float low = f->left[q] * a[0] + f->right[q] * b[0];
        out[k] += low + part * (f->left[q] * a[1] + f->right[q] * b[1] - low);
    }
}

/* Slices that any of the views sees, from a multiple of VEC on. */
static void voxel_slices_seen(const struct projector *p, const struct voxel_footprints *f, int q,
                              int64_t *low, int64_t *high)
{
    double first = INFINITY, last = -INFINITY;
    for (int v = 0; v < VOXEL_VIEWS; v++) {
        const double slices_per_row = 1 / f[v].width[q];
        const double from = (-1 - f[v].row[q]) * slices_per_row;
        const double to = ((double)p->scan.rows - f[v].row[q]) * slices_per_row;
        first = from < first ? from : first;
        last = to > last ? to : last;
    }
    *low = voxel_clamp(floor(first), 0, p->volume.slices) / VEC * VEC;
    *high = voxel_clamp(ceil(last) + 1, 0, p->volume.slices);
}

/* All views of pixel q; the first `views` of them are in the tile. */
static void voxel_back_views(const struct voxel_block *b, int q, int views, const float *tile,
                             float *out)
{
    const struct projector *p = b->projector;
    const struct voxel_footprints *f = b->footprints;
    struct voxel_ray rays[VOXEL_VIEWS];
    double widest = 0;
    int64_t low, high;
    voxel_slices_seen(p, f, q, &low, &high);
    for (int v = 0; v < VOXEL_VIEWS; v++)
        widest = f[v].width[q] > widest ? f[v].width[q] : widest;
    const int end = (int)voxel_align_up(p->scan.rows);
    const int64_t blocks = (high - low + VEC - 1) / VEC;
    for (int v = 0; v < VOXEL_VIEWS; v++) {
        int32_t *fraction = b->fraction + v * b->blocks, *cell = b->cell + v * b->blocks;
        const float *plane = tile + (v < views ? v : 0) * b->view_stride;
        const float *column = plane + f[v].column[q] * b->ld;
        if (widest > WIDEST) {
            add_general(p, &f[v], q, column, b->ld, out);
            continue;
        }
        voxel_locate(f[v].row[q], f[v].width[q], low, blocks, end, fraction, cell);
        rays[v] = (struct voxel_ray){column,
                                     cell,
                                     fraction,
                                     vf_set(f[v].left[q]),
                                     vf_set(f[v].right[q]),
                                     spread(f[v].width[q])};
    }
    if (widest > WIDEST)
        return;
    if (widest > NARROW)
        add_rays(rays, b->ld, blocks, out + low, 3);
    else
        add_rays(rays, b->ld, blocks, out + low, 2);
}

/* A view that counts nothing, to make the group whole. */
static void voxel_blank_view(const struct voxel_footprints *like, struct voxel_footprints *f)
{
    *f = *like;
    memset(f->left, 0, sizeof f->left);
    memset(f->right, 0, sizeof f->right);
}

static void voxel_back(const struct voxel_block *b, int64_t view, int views, const float *tile,
                       int set, float *x)
{
    const int64_t slices = b->projector->volume.slices;
    for (int v = 0; v < views; v++)
        voxel_find_footprints(b->projector, view + v, &b->pixels, &b->footprints[v]);
    for (int v = views; v < VOXEL_VIEWS; v++)
        voxel_blank_view(&b->footprints[0], &b->footprints[v]);
    for (int q = 0; q < b->pixels.n; q++) {
        float *at = x + b->pixels.cylinder[q], *sums = slices % VEC == 0 ? at : b->copy;
        if (set)
            memset(at, 0, (size_t)slices * sizeof *at);
        if (sums != at)
            memcpy(sums, at, (size_t)slices * sizeof *at);
        voxel_back_views(b, q, views, tile, sums);
        if (sums != at)
            memcpy(at, sums, (size_t)slices * sizeof *at);
    }
}

const struct voxel_kernels ISA_NAME(voxel_kernels) = {voxel_back};
