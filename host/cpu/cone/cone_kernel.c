/* Cone beams, inner loops: a footprint's columns are blended, then resampled between rows and
 * slices by the overlap of two uniform grids, a vector of intervals at a time. */
#include <math.h>

#include "host/cpu/cone/cone_worker.h"
#include "host/cpu/common/vec_window.h"

/* Cells of one grid per cell of the other that a window of 32 floats serves: one window for a whole
 * vector, or one for each group of its lanes. */
#define NARROW 1.9
#define WIDEST 3.75

/* A grid of intervals [edge + width*i, edge + width*(i+1)) laid over unit cells centred at
 * integers. */
struct interval_grid {
    double edge, width, inverse; /* inverse = 1 / width */
    double spread;               /* how far a voxel reaches beyond its interval, on either side */
};

/* 1/cos(psi): coefficients in z^2. */
struct cosine {
    float c[4], square; /* square: of its square, beside 1 */
    int exact;
};

static int64_t cone_clamp(double value, int64_t low, int64_t high)
{
    return value < (double)low ? low : value > (double)high ? high : (int64_t)value;
}

static int64_t align_down(int64_t n)
{
    return n / VEC * VEC;
}

static int64_t cone_align_up(int64_t n)
{
    return (n + VEC - 1) / VEC * VEC;
}

static struct cosine cosine_of(const struct projector *p, double slope)
{
    struct cosine c = {.square = (float)(slope * slope), .exact = p->cos_exact};
    double power = 1;
    for (int i = 0; i < 4; i++, power *= slope * slope)
        c.c[i] = (float)(p->cos_poly[i] * power);
    return c;
}

VEC_INLINE vf inverse_cosine(const struct cosine *c, vf z_squared, int power)
{
    const vf square = 1 + c->square * z_squared;
    if (power == 2)
        return square;
    if (c->exact)
        return vf_sqrt(square);
    return c->c[0] + z_squared * (c->c[1] + z_squared * (c->c[2] + z_squared * c->c[3]));
}

/* For blocks of `step` intervals from `first` on: the cell in which each block starts, and where in
 * it (-0.5 .. 0.5). In float64, since edge + width*first may be thousands of cells. */
static void cone_locate(struct interval_grid g, int64_t first, int64_t blocks, int step,
                        float *fraction, int32_t *cell)
{
    for (int64_t i = 0; i < blocks; i++) {
        double at = g.edge + g.width * (double)(first + i * step), nearest = floor(at + 0.5);
        fraction[i] = (float)(at - nearest);
        cell[i] = (int32_t)nearest;
    }
}

/* Sum of source cells times their overlap with each of VEC intervals of `width` <= 2 cells; `wide`
 * when above 1, where an interval can touch three cells. Ties of the rounding give a weight of 0 to
 * the wrong cell. */
VEC_INLINE vf overlap(const float *source, float fraction, vf width, vf lanes, int wide, int power)
{
    vf at = lanes * width + fraction, biased = at + VF_INDEX_BIAS;
    vf first = vf_min((biased - VF_INDEX_BIAS) - at + 0.5f, width), rest = width - first;
    struct vf_window w = window_open(source);
    if (!wide) {
        if (power == 2)
            first *= first, rest *= rest;
        return window_get(w, biased, 0) * first + window_get(w, biased, 1) * rest;
    }
    vf second = vf_min(rest, vf_set(1)), third = rest - second;
    if (power == 2)
        first *= first, second *= second, third *= third;
    return window_get(w, biased, 0) * first + window_get(w, biased, 1) * second +
           window_get(w, biased, 2) * third;
}

VEC_INLINE vf raised(vf weight, int power)
{
    if (power == 2)
        weight *= weight;
    return weight;
}

/* The same for widths up to 3 (4 taps) or 3.75 (5); each group of intervals starts from its own
 * `cell` and `fraction`. */
VEC_INLINE vf overlap_wide(const float *source, const int32_t *cell, const float *fraction,
                           vf width, vf lanes, int taps, int power)
{
    vf at = lanes * width + group_spread(fraction), biased = at + VF_INDEX_BIAS;
    vf weight = vf_min((biased - VF_INDEX_BIAS) - at + 0.5f, width), rest = width - weight;
    const struct group_window w = group_open(source, cell);
    vf sum = group_get(&w, biased, 0) * raised(weight, power);
    for (int t = 1; t < taps; t++) {
        weight = rest;
        if (t < taps - 1)
            weight = vf_min(rest, vf_set(1));
        if (taps == 5 && t < 3) /* whole cells: the width is above 3 */
            weight = vf_set(1);
        rest -= weight;
        sum += group_get(&w, biased, t) * raised(weight, power);
    }
    return sum;
}

/* The part of a footprint that is not zero, at least one tap. Half of all footprints of three taps
 * have but two, and a tap costs as much as a sixth of the vertical resampling. */
struct taps {
    const float *weight; /* at strides of BATCH */
    int64_t skip;        /* columns before the first */
    int count;
};

static struct taps taps_trim(const struct footprints *f, int q, int taps)
{
    const float *w = f->weight + q;
    int first = 0, last = taps - 1;
    while (first < last && w[first * BATCH] == 0)
        first++;
    while (last > first && w[last * BATCH] == 0)
        last--;
    return (struct taps){w + first * BATCH, first, last - first + 1};
}

/* b[m] = sum of the footprint's channels, for rows [low, high), both multiples of VEC, zeros
 * around. */
VEC_INLINE void blend(const struct cone_block *b, const float *weight, const float *column,
                      int64_t low, int64_t high, int64_t pad, int taps)
{
    float *out = b->detector + CONE_PAD;
    for (int64_t m = low - pad; m < low; m += VEC)
        vf_store(out + m, (vf){0});
    for (int64_t m = low; m < high; m += VEC) {
        vf sum = weight[0] * vf_load(column + m);
        for (int t = 1; t < taps; t++)
            sum += weight[t * BATCH] * vf_load(column + t * b->ld + m);
        vf_store(out + m, sum);
    }
    for (int64_t m = high; m < high + pad; m += VEC)
        vf_store(out + m, (vf){0});
}

static void blend_taps(const struct cone_block *b, const struct taps *t, const float *column,
                       int64_t low, int64_t high, int64_t pad)
{
    const float *w = t->weight;
    switch (t->count) {
    case 2:
        blend(b, w, column, low, high, pad, 2);
        break;
    case 3:
        blend(b, w, column, low, high, pad, 3);
        break;
    case 4:
        blend(b, w, column, low, high, pad, 4);
        break;
    case 5:
        blend(b, w, column, low, high, pad, 5);
        break;
    default:
        blend(b, w, column, low, high, pad, t->count);
    }
}

/* The contract's own enumeration, for voxels wider or finer than `overlap` serves, or wider than
 * its window. */
static void back_general(const struct cone_block *b, struct interval_grid g, int64_t low,
                         int64_t high)
{
    const int radius = b->projector->windows.back;
    const int64_t rows = b->projector->scan.rows;
    const double under = g.width + 2 * g.spread;
    const float *in = b->detector + CONE_PAD;
    for (int64_t k = low; k < high; k++) {
        double row = g.edge + g.width * ((double)k + 0.5), centre = rint(row), sum = 0;
        int64_t from = cone_clamp(centre - radius, 0, rows),
                to = cone_clamp(centre + radius + 1, 0, rows);
        for (int64_t m = from; m < to; m++) {
            double tau = fmin(0.5 * (under + 1) - fabs(row - (double)m), fmin(1, under));
            if (tau > 0)
                sum += (b->power == 2 ? tau * tau : tau) * (double)in[m];
        }
        b->cylinder[CONE_PAD + k] = (float)sum;
    }
}

static void forward_general(const struct cone_block *b, struct interval_grid g, int64_t low,
                            int64_t high, float *out)
{
    const int radius = b->projector->windows.forward;
    const int64_t slices = b->projector->volume.slices;
    const double under = g.width + 2 * g.spread;
    const float *in = b->cylinder + CONE_PAD;
    for (int64_t m = low; m < high; m++) {
        double slice = ((double)m - g.edge) / g.width - 0.5, centre = rint(slice), sum = 0;
        int64_t from = cone_clamp(centre - radius, 0, slices),
                to = cone_clamp(centre + radius + 1, 0, slices);
        for (int64_t k = from; k < to; k++) {
            double row = g.edge + g.width * ((double)k + 0.5);
            double tau = fmin(0.5 * (under + 1) - fabs(row - (double)m), fmin(1, under));
            if (tau > 0)
                sum += tau * (double)in[k];
        }
        out[m] = (float)sum;
    }
}

/* Cells that an interval can touch, as the fast path counts them: 2 and 3 up to NARROW. */
static int overlap_taps(double width)
{
    return width <= 1 ? 2 : width <= NARROW ? 3 : width <= 3 ? 4 : 5;
}

/* The fast path clips nothing, as the contract does not either while a width stays within the
 * window of taps. */
static int is_fast(double width, double spread, int radius)
{
    return spread == 0 && (width <= NARROW || (width <= WIDEST && width <= 2.0 * radius));
}

/* All taps are guards. */
static int taps_miss(const struct projector *p, int32_t start)
{
    return start == 0 || start == p->columns - p->taps;
}

/* Slices that can touch the detector, one spare on each side: their weights come out as 0. */
static int cone_slices_seen(const struct cone_block *b, struct interval_grid g, int64_t *low,
                            int64_t *high)
{
    const int64_t slices = b->projector->volume.slices;
    const double first = -0.5 - g.spread - g.edge;
    const double end = (double)b->projector->scan.rows - 0.5 + g.spread - g.edge;
    *low = cone_clamp(floor(first * g.inverse) - 1, 0, slices);
    *high = cone_clamp(ceil(end * g.inverse) + 1, 0, slices);
    return *low < *high;
}

/* Detector rows that slices [low, high) touch. */
static int rows_seen(const struct cone_block *b, struct interval_grid g, int64_t *low,
                     int64_t *high)
{
    const int64_t rows = b->projector->scan.rows;
    int64_t first = cone_clamp(floor(g.edge + g.width * (double)*low - 0.5 - g.spread), 0, rows);
    int64_t last = cone_clamp(ceil(g.edge + g.width * (double)*high + 0.5 + g.spread) + 1, 0, rows);
    *low = first;
    *high = last;
    return first < last;
}

/* Intervals `first`, ... of g, overlapping the cells of `source`: what `overlap_at` needs. */
struct overlaps {
    const float *source;
    vf width, lanes;
    int64_t blocks;
};

VEC_INLINE struct overlaps overlaps_open(const struct cone_block *b, const float *source,
                                         struct interval_grid g, int64_t first, int64_t end,
                                         int taps)
{
    const int64_t blocks = (end - first + VEC - 1) / VEC;
    const int wide = taps > 3;
    cone_locate(g, first, wide ? blocks * GROUPS : blocks, wide ? GROUP : VEC, b->fraction,
                b->cell);
    return (struct overlaps){source + CONE_PAD, vf_set((float)g.width),
                             wide ? group_iota() : vf_iota(), blocks};
}

VEC_INLINE vf overlap_at(const struct cone_block *b, const struct overlaps *s, int64_t i, int taps,
                         int power)
{
    if (taps > 3)
        return overlap_wide(s->source, b->cell + i * GROUPS, b->fraction + i * GROUPS, s->width,
                            s->lanes, taps, power);
    return overlap(s->source + b->cell[i], b->fraction[i], s->width, s->lanes, taps == 3, power);
}

VEC_INLINE void back_slices(const struct cone_block *b, struct interval_grid g,
                            const struct cosine *c, const float *z2, int64_t low, int64_t high,
                            float *out, int taps, int power)
{
    const struct overlaps s = overlaps_open(b, b->detector, g, low, high, taps);
    for (int64_t i = 0; i < s.blocks; i++) {
        const int64_t k = low + i * VEC;
        const vf factor = inverse_cosine(c, vf_load(z2 + k), power);
        vf_store(out + k, vf_load(out + k) + factor * overlap_at(b, &s, i, taps, power));
    }
}

#define BACK_SLICES(name, taps, power)                                                             \
    static void name(const struct cone_block *b, struct interval_grid g, const struct cosine *c,   \
                     const float *z2, int64_t low, int64_t high, float *out)                       \
    {                                                                                              \
        back_slices(b, g, c, z2, low, high, out, taps, power);                                     \
    }
BACK_SLICES(back_2, 2, 1)
BACK_SLICES(back_3, 3, 1)
BACK_SLICES(back_4, 4, 1)
BACK_SLICES(back_5, 5, 1)
BACK_SLICES(back_squares_2, 2, 2)
BACK_SLICES(back_squares_3, 3, 2)
BACK_SLICES(back_squares_4, 4, 2)
BACK_SLICES(back_squares_5, 5, 2)

/* By power and overlap_taps(). */
static void (*const back_fast[2][6])(const struct cone_block *, struct interval_grid,
                                     const struct cosine *, const float *, int64_t, int64_t,
                                     float *) = {
    {NULL, NULL, back_2, back_3, back_4, back_5},
    {NULL, NULL, back_squares_2, back_squares_3, back_squares_4, back_squares_5},
};

static void cone_back_view(const struct cone_block *b, int v, int q, const float *tile, float *out)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct interval_grid g = {f->edge[q], f->width[q], f->slices_per_row[q], f->spread};
    const struct taps t = taps_trim(f, q, p->taps);
    const float *column = tile + v * b->view_stride + (f->start[q] + t.skip) * b->ld;
    const float *z2 = b->z_squared + v * p->z_stride;
    const struct cosine c = cosine_of(p, f->slope[q]);
    int64_t low, high, row_low, row_high;
    if (taps_miss(p, f->start[q]) || !cone_slices_seen(b, g, &low, &high))
        return;
    row_low = low, row_high = high;
    if (!rows_seen(b, g, &row_low, &row_high))
        return;
    row_low = align_down(row_low), row_high = cone_align_up(row_high);
    blend_taps(b, &t, column, row_low, row_high, g.width > NARROW ? CONE_PAD : 48);
    if (!is_fast(g.width, g.spread, p->windows.back)) {
        back_general(b, g, low, high);
        for (int64_t k = low; k < high; k++) {
            float square = 1 + (float)(f->slope[q] * f->slope[q]) * z2[k];
            out[k] += b->cylinder[CONE_PAD + k] * (b->power == 2 ? square : sqrtf(square));
        }
        return;
    }
    low = align_down(low);
    back_fast[b->power - 1][overlap_taps(g.width)](b, g, &c, z2, low, high, out);
}

VEC_INLINE void scatter_rows(const struct cone_block *b, const struct taps *t,
                             struct interval_grid rows, int64_t low, int64_t high, float *column,
                             int overlaps, int taps)
{
    const float *weight = t->weight, rows_per_slice = (float)rows.inverse;
    const struct overlaps s = overlaps_open(b, b->cylinder, rows, low, high, overlaps);
    for (int64_t i = 0; i < s.blocks; i++) {
        vf sum = rows_per_slice * overlap_at(b, &s, i, overlaps, 1);
        float *out = column + low + i * VEC;
        for (int k = 0; k < taps; k++, out += b->ld)
            vf_store(out, vf_load(out) + weight[k * BATCH] * sum);
    }
}

static void scatter_general(const struct cone_block *b, const struct taps *t,
                            struct interval_grid g, int64_t low, int64_t high, float *column)
{
    forward_general(b, g, low, high, b->detector + CONE_PAD);
    for (int i = 0; i < t->count; i++)
        for (int64_t m = low; m < high; m++)
            column[i * b->ld + m] += t->weight[i * BATCH] * b->detector[CONE_PAD + m];
}

static void cone_scatter(const struct cone_block *b, const struct taps *t,
                         struct interval_grid rows, int64_t low, int64_t high, float *column)
{
    low = align_down(low);
    switch (overlap_taps(rows.width)) {
    case 2:
        if (t->count == 2)
            scatter_rows(b, t, rows, low, high, column, 2, 2);
        else if (t->count == 3)
            scatter_rows(b, t, rows, low, high, column, 2, 3);
        else
            scatter_rows(b, t, rows, low, high, column, 2, t->count);
        break;
    case 3:
        scatter_rows(b, t, rows, low, high, column, 3, t->count);
        break;
    case 4:
        scatter_rows(b, t, rows, low, high, column, 4, t->count);
        break;
    default:
        scatter_rows(b, t, rows, low, high, column, 5, t->count);
    }
}

/* `x` is padded to a multiple of VEC. */
static void cone_forward_view(const struct cone_block *b, int v, int q, const float *x, float *tile)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct interval_grid g = {f->edge[q], f->width[q], f->slices_per_row[q], f->spread};
    /* The same overlap seen from the rows: their edges on the axis of slices, whose cells start at
     * integers. */
    const struct interval_grid rows = {(-0.5 - g.edge) * g.inverse - 0.5, g.inverse, g.width, 0};
    const float *z2 = b->z_squared + v * p->z_stride;
    const struct taps t = taps_trim(f, q, p->taps);
    float *column = tile + v * b->view_stride + (f->start[q] + t.skip) * b->ld;
    const struct cosine c = cosine_of(p, f->slope[q]);
    int64_t low, high;
    if (taps_miss(p, f->start[q]) || !cone_slices_seen(b, g, &low, &high))
        return;
    for (int64_t k = align_down(low); k < high; k += VEC)
        vf_store(b->cylinder + CONE_PAD + k,
                 vf_load(x + k) * inverse_cosine(&c, vf_load(z2 + k), 1));
    if (!rows_seen(b, g, &low, &high))
        return;
    if (is_fast(rows.width, g.spread, p->windows.forward))
        cone_scatter(b, &t, rows, low, high, column);
    else
        scatter_general(b, &t, g, low, high, column);
}

/* The cylinder's values, zero beyond the last slice up to a whole vector. */
static const float *cone_padded(const struct cone_block *b, const float *x, float *copy)
{
    const int64_t slices = b->projector->volume.slices;
    if (slices % VEC == 0)
        return x;
    memcpy(copy, x, (size_t)slices * sizeof *x);
    for (int64_t k = slices; k < cone_align_up(slices); k++)
        copy[k] = 0;
    return copy;
}

static void cone_forward(const struct cone_block *b, const float *x, float *tile)
{
    for (int q = 0; q < b->pixels->n; q++) {
        const float *at = cone_padded(b, x + b->pixels->cylinder[q], b->copy);
        for (int v = 0; v < b->views; v++)
            cone_forward_view(b, v, q, at, tile);
    }
}

static void cone_back(const struct cone_block *b, const float *tile, int set, float *x)
{
    const int64_t slices = b->projector->volume.slices;
    for (int q = 0; q < b->pixels->n; q++) {
        float *at = x + b->pixels->cylinder[q];
        if (set)
            memset(at, 0, (size_t)slices * sizeof *at);
        float *sums = slices % VEC == 0 ? at : b->copy;
        cone_padded(b, at, b->copy);
        for (int v = 0; v < b->views; v++)
            cone_back_view(b, v, q, tile, sums);
        if (sums != at)
            memcpy(at, sums, (size_t)slices * sizeof *at);
    }
}

const struct cone_kernels ISA_NAME(cone_kernels) = {cone_forward, cone_back};
