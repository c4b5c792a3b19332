/* The thickest slabs that fit into memory, by bisection, and where each of them lies. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "host/geom/windows.h"
#include "host/recon/slabs/slab.h"

static int64_t slab_ceil_div(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* The largest thickness in [1, length] that fits; 0 when none does. */
static int64_t slab_thickest(int64_t length, slab_bytes *bytes, const void *context,
                             size_t available)
{
    return (int64_t)ARRAY_BOUND(1, (size_t)length + 1, thick,
                                bytes(context, (int64_t)thick) <= available) -
           1;
}

enum err slabs_plan(const char *what, const char *where, int64_t length, slab_bytes *bytes,
                    const void *context, size_t available, struct slabs *out)
{
    *out = (struct slabs){length, 0, 0};
    if (length <= 0)
        return ERR_OK;
    const int64_t most = slab_thickest(length, bytes, context, available);
    if (!most) {
        char need[16], have[16];
        return FAIL(ERR_MEMORY, "%s needs %s %s for its thinnest slab, %s available", what,
                    mem_human((double)bytes(context, 1), need), where,
                    mem_human((double)available, have));
    }
    out->count = slab_ceil_div(length, most);
    out->thickness = slab_ceil_div(length, out->count);
    out->count = slab_ceil_div(length, out->thickness);
    return ERR_OK;
}

struct slab slab_at(const struct slabs *plan, int64_t index, int64_t halo)
{
    struct slab s = {.first = index * plan->thickness};
    const int64_t rest = plan->length - s.first;
    s.count = rest < plan->thickness ? rest : plan->thickness;
    s.from = s.first > halo ? s.first - halo : 0;
    const int64_t end = s.first + s.count;
    s.length = (plan->length - end > halo ? end + halo : plan->length) - s.from;
    return s;
}

/* A part of a scan and volume as a problem of its own, and the detector rows and slices that it
 * touches. */

struct ct_model tile_model(const struct ct_model *m, struct index_range views,
                           struct index_range rows, struct index_range slices)
{
    struct ct_model t = *m;
    t.scan.views = views.count;
    t.scan.angles += views.first;
    if (t.scan.z_shifts)
        t.scan.z_shifts += views.first;
    if (t.scan.moves)
        t.scan.moves += views.first;
    /* v = delta_row (m - (rows - 1)/2) - row_offset, z likewise */
    t.scan.rows = rows.count;
    t.scan.row_offset +=
        m->scan.delta_row * (0.5 * (double)(m->scan.rows - rows.count) - (double)rows.first);
    t.volume.slices = slices.count;
    if (!t.volume.whole_slices)
        t.volume.whole_slices = m->volume.slices;
    t.volume.slice_offset +=
        volume_delta_slice(&m->volume) *
        ((double)slices.first - 0.5 * (double)(m->volume.slices - slices.count));
    return t;
}

/* Slice edge k meets detector row centre + width (k - bottom), width between `least` and `most`
 * rows, bottom between `low` and `high` (cuda/cone/cone.cuh: vertical_fan). */
struct fan {
    double centre, least, most, low, high;
};

static struct fan fan_of(const struct ct_model *m, struct index_range views)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    struct fan f = {.centre = s->row_offset / s->delta_row + 0.5 * (double)(s->rows - 1)};
    const double dz = volume_delta_slice(v);
    double first = 0, last = 0; /* of the shifts */
    rows_per_slice(s, v, &f.least, &f.most);
    for (int64_t i = 0; s->z_shifts && i < views.count; i++) {
        const double z = (double)s->z_shifts[views.first + i];
        first = i && first < z ? first : z;
        last = i && last > z ? last : z;
    }
    f.low = 0.5 * (double)v->slices + (first - v->slice_offset) / dz;
    f.high = 0.5 * (double)v->slices + (last - v->slice_offset) / dz;
    return f;
}

/* A pixel at the source has no largest magnification (windows.h). In a multi-axis scan rows depend
 * on where a pixel lies, too. */
static int is_bounded(const struct ct_model *m, const struct fan *f)
{
    return !scan_is_multiaxis(&m->scan) &&
           f->most * m->scan.delta_row < 1e6 * volume_delta_slice(&m->volume);
}

/* Returns the whole cells in [low, high] and one more on both sides, for rounding; within [0,
 * n). */
static struct index_range range_of_cells(double low, double high, int64_t n)
{
    const double first = fmin(fmax(floor(low) - 1, 0), (double)n);
    const double end = fmin(fmax(ceil(high) + 2, first), (double)n);
    return (struct index_range){(int64_t)first, (int64_t)(end - first)};
}

struct index_range tile_rows(const struct ct_model *m, struct index_range views,
                             struct index_range slices)
{
    if (m->scan.beam == BEAM_PARALLEL)
        return slices;
    const struct fan f = fan_of(m, views);
    const double bottom = (double)slices.first - f.high;
    const double top = (double)(slices.first + slices.count) - f.low;
    if (!is_bounded(m, &f))
        return (struct index_range){0, m->scan.rows};
    return range_of_cells(f.centre + fmin(f.least * bottom, f.most * bottom),
                          f.centre + fmax(f.least * top, f.most * top), m->scan.rows);
}

struct index_range tile_slices(const struct ct_model *m, struct index_range views,
                               struct index_range rows)
{
    if (m->scan.beam == BEAM_PARALLEL)
        return rows;
    const struct fan f = fan_of(m, views);
    const double bottom = (double)rows.first - 0.5 - f.centre;
    const double top = bottom + (double)rows.count;
    if (!is_bounded(m, &f))
        return (struct index_range){0, m->volume.slices};
    return range_of_cells(f.low + fmin(bottom / f.least, bottom / f.most),
                          f.high + fmax(top / f.least, top / f.most), m->volume.slices);
}

int64_t box_count(const struct box *b)
{
    return b->part[0].count * b->part[1].count * b->part[2].count;
}

/* Numbers that lie side by side in the array and in the part; as many as the inner axes that are
 * whole allow. */
static int64_t run_length(const struct box *b)
{
    int64_t run = b->part[2].count;
    for (int axis = 2; axis > 0 && b->part[axis].count == b->size[axis]; axis--)
        run *= b->part[axis - 1].count;
    return run;
}

/* Returns the index in the array of number `at` of the part. */
static int64_t box_place(const struct box *b, int64_t at)
{
    const int64_t k = at % b->part[2].count, line = at / b->part[2].count;
    const int64_t j = line % b->part[1].count, i = line / b->part[1].count;
    return ((b->part[0].first + i) * b->size[1] + b->part[1].first + j) * b->size[2] +
           b->part[2].first + k;
}

void box_pack(const struct box *b, const float *array, int64_t first, int64_t count, float *out)
{
    const int64_t run = run_length(b), end = first + count;
    for (int64_t at = first, n; at < end; at += n) {
        n = run - at % run < end - at ? run - at % run : end - at;
        memcpy(out + (at - first), array + box_place(b, at), (size_t)n * sizeof(float));
    }
}

void box_unpack(const struct box *b, const float *in, int64_t first, int64_t count, float *array)
{
    const int64_t run = run_length(b), end = first + count;
    for (int64_t at = first, n; at < end; at += n) {
        n = run - at % run < end - at ? run - at % run : end - at;
        memcpy(array + box_place(b, at), in + (at - first), (size_t)n * sizeof(float));
    }
}
