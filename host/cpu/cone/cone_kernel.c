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

#define LOCATED 8 /* blocks that cone_locate finds together */
typedef double located __attribute__((vector_size(LOCATED * sizeof(double))));
typedef float located_float __attribute__((vector_size(LOCATED * sizeof(float)), aligned(4)));
typedef int32_t located_int __attribute__((vector_size(LOCATED * sizeof(int32_t)), aligned(4)));

/* For blocks of `step` intervals from `first` on: the cell in which each block starts, and where in
 * it (0 .. 1). In float64, since edge + width*first may be thousands of cells. Writes up to LOCATED
 * - 1 blocks more. */
VEC_INLINE void cone_locate(struct interval_grid g, int64_t first, int64_t blocks, int step,
                            float *fraction, int32_t *cell)
{
    const double whole_bias = 0x1.8p52, advance = g.width * step;
    located at = (g.edge + g.width * (double)first) + advance * (located){0, 1, 2, 3, 4, 5, 6, 7};
    for (int64_t i = 0; i < blocks; i += LOCATED, at += LOCATED * advance) {
        const located whole = (at + whole_bias) - whole_bias; /* rounded to nearest */
        *(located_float *)(fraction + i) = __builtin_convertvector(at - whole + 0.5, located_float);
        *(located_int *)(cell + i) = __builtin_convertvector(whole, located_int);
    }
}

/* Sum of source cells times their overlap with each of VEC intervals of `width` <= NARROW cells;
 * `wide` when above 1, where an interval can touch three cells. */
VEC_INLINE vf overlap(const float *source, float fraction, vf width, vf lanes, int wide, int power)
{
    const vf at = lanes * width + fraction, biased = vf_index(at);
    vf first = (biased - (VF_INDEX_BIAS - 1)) - at;
    const struct vf_window w = window_open(source);
    if (!wide) {
        first = vf_min(first, width);
        vf second = width - first;
        if (power == 2)
            first *= first, second *= second;
        return window_get(w, biased, 0) * first + window_get(w, biased, 1) * second;
    }
    const vf rest = width - first;
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
    const vf at = lanes * width + group_spread(fraction), biased = vf_index(at);
    vf weight = vf_min((biased - (VF_INDEX_BIAS - 1)) - at, width), rest = width - weight;
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

/* out[m] = sum of the footprint's channels, for rows [low, high), both multiples of VEC. */
VEC_INLINE void blend(const float *weight, const float *column, int64_t ld, int64_t low,
                      int64_t high, float *out, int taps)
{
    for (int64_t m = low; m < high; m += VEC) {
        vf sum = weight[0] * vf_load(column + m);
        for (int t = 1; t < taps; t++)
            sum += weight[t * BATCH] * vf_load(column + t * ld + m);
        vf_store(out + m, sum);
    }
}

static void blend_taps(int taps, const float *w, const float *column, int64_t ld, int64_t low,
                       int64_t high, float *out)
{
    switch (taps) {
    case 2:
        blend(w, column, ld, low, high, out, 2);
        break;
    case 3:
        blend(w, column, ld, low, high, out, 3);
        break;
    default:
        blend(w, column, ld, low, high, out, taps);
    }
}

/* The contract's own enumeration, for voxels wider or finer than `overlap` serves, or wider than
 * its window. */
static void back_general(const struct cone_block *b, struct interval_grid g, int64_t low,
                         int64_t high, const float *in, float *out)
{
    const int radius = b->projector->windows.back;
    const int64_t rows = b->projector->scan.rows;
    const double under = g.width + 2 * g.spread;
    for (int64_t k = low; k < high; k++) {
        double row = g.edge + g.width * ((double)k + 0.5), centre = rint(row), sum = 0;
        int64_t from = cone_clamp(centre - radius, 0, rows),
                to = cone_clamp(centre + radius + 1, 0, rows);
        for (int64_t m = from; m < to; m++) {
            double tau = fmin(0.5 * (under + 1) - fabs(row - (double)m), fmin(1, under));
            if (tau > 0)
                sum += (b->power == 2 ? tau * tau : tau) * (double)in[m];
        }
        out[k] = (float)sum;
    }
}

static void forward_general(const struct cone_block *b, struct interval_grid g, int64_t low,
                            int64_t high, const float *in, float *out)
{
    const int radius = b->projector->windows.forward;
    const int64_t slices = b->projector->volume.slices;
    const double under = g.width + 2 * g.spread;
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

/* Slices of a batch of pixels that can touch the detector in a view, one spare on each side, whose
 * weights come out as 0, and the detector rows that they touch: high is -1 where there are none.
 * Of the footprints, the taps that are not zero: half of all footprints of three have but two. */
struct reach {
    int32_t low[BATCH], high[BATCH], row_low[BATCH], row_high[BATCH];
    int32_t skip[BATCH], taps[BATCH];
};

static double reach_clamp(double value, double most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* Counts the taps that are 0 at one end of each footprint, at most all but one. */
static void reach_zeros(const float *weight, int64_t step, int taps, int n, int32_t *count)
{
    int32_t zero[BATCH];
    for (int q = 0; q < n; q++)
        count[q] = 0, zero[q] = 1;
    for (int t = 0; t < taps - 1; t++)
        for (int q = 0; q < n; q++) {
            zero[q] &= weight[t * step + q] == 0;
            count[q] += zero[q];
        }
}

static void reach_find(const struct cone_block *b, const struct footprints *f, struct reach *out)
{
    const struct projector *p = b->projector;
    const double slices = (double)p->volume.slices, rows = (double)p->scan.rows;
    const double first = -0.5 - f->spread, end = rows - 0.5 + f->spread;
    const int32_t last = (int32_t)(p->columns - p->taps);
    const int n = b->pixels->n;
    int32_t behind[BATCH];
    for (int q = 0; q < n; q++) {
        const double edge = f->edge[q], width = f->width[q], inverse = f->slices_per_row[q];
        const double low = reach_clamp(floor((first - edge) * inverse) - 1, slices);
        const double high = reach_clamp(ceil((end - edge) * inverse) + 1, slices);
        const double row_low = reach_clamp(floor(edge + width * low + first), rows);
        const double row_high = reach_clamp(ceil(edge + width * high - first) + 1, rows);
        out->low[q] = (int32_t)low;
        out->high[q] = (int32_t)high;
        out->row_low[q] = (int32_t)row_low;
        out->row_high[q] = (int32_t)row_high;
    }
    reach_zeros(f->weight, BATCH, p->taps, n, out->skip);
    reach_zeros(f->weight + (p->taps - 1) * BATCH, -BATCH, p->taps, n, behind);
    for (int q = 0; q < n; q++) {
        const int32_t left = p->taps - out->skip[q] - behind[q];
        const int miss = (out->low[q] >= out->high[q]) | (out->row_low[q] >= out->row_high[q]) |
                         (f->start[q] == 0) | (f->start[q] == last); /* all taps are guards */
        out->taps[q] = left < 1 ? 1 : left;
        out->high[q] = miss ? -1 : out->high[q];
    }
}

/* A pixel's column in a view, its cells at source[0] and on, and the intervals [first, first +
 * VEC*blocks) that are to be found from them. Columns of MAX_VIEWS views are made before the first
 * is used: a load of what two stores just wrote waits until both have left for the cache. */
struct resampling {
    const float *source, *fraction; /* fraction, cell: where each block starts */
    const int32_t *cell;
    int64_t first, blocks;
    float width;
    int view, taps; /* taps: cells that an interval can touch */
};

VEC_INLINE void resampling_open(const struct cone_block *b, int view, struct interval_grid g,
                                int64_t first, int64_t end, struct resampling *r)
{
    const int wide = g.width > NARROW;
    const int64_t blocks = (end - first + VEC - 1) / VEC;
    float *fraction = b->fraction + view * b->blocks;
    int32_t *cell = b->cell + view * b->blocks;
    cone_locate(g, first, wide ? blocks * GROUPS : blocks, wide ? GROUP : VEC, fraction, cell);
    r->source = b->column + view * b->column_stride + CONE_PAD;
    r->fraction = fraction;
    r->cell = cell;
    r->first = first;
    r->blocks = blocks;
    r->width = (float)g.width;
    r->view = view;
    r->taps = overlap_taps(g.width);
}

VEC_INLINE vf resampling_at(const float *source, const float *fraction, const int32_t *cell,
                            vf width, vf lanes, int taps, int power)
{
    if (taps > 3)
        return overlap_wide(source, cell, fraction, width, lanes, taps, power);
    return overlap(source + *cell, *fraction, width, lanes, taps == 3, power);
}

VEC_INLINE void back_slices(const struct resampling *r, const struct cosine *cosine,
                            const float *z2, float *out, int taps, int power)
{
    const vf width = vf_set(r->width), lanes = taps > 3 ? group_iota() : vf_iota();
    const struct cosine c = *cosine;
    const float *source = r->source, *fraction = r->fraction;
    const int32_t *cell = r->cell;
    const int each = taps > 3 ? GROUPS : 1;
    const float *const end = out + r->first + r->blocks * VEC;
    z2 += r->first;
    for (out += r->first; out < end; out += VEC, z2 += VEC, fraction += each, cell += each) {
        const vf factor = inverse_cosine(&c, vf_load(z2), power);
        vf_store(out, vf_load(out) + factor * resampling_at(source, fraction, cell, width, lanes,
                                                            taps, power));
    }
}

#define BACK_SLICES(name, taps, power)                                                             \
    static void name(const struct resampling *r, const struct cosine *c, const float *z2,          \
                     float *out)                                                                   \
    {                                                                                              \
        back_slices(r, c, z2, out, taps, power);                                                   \
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
static void (*const back_fast[2][6])(const struct resampling *, const struct cosine *,
                                     const float *, float *) = {
    {NULL, NULL, back_2, back_3, back_4, back_5},
    {NULL, NULL, back_squares_2, back_squares_3, back_squares_4, back_squares_5},
};

VEC_INLINE struct interval_grid cone_slices_of(const struct footprints *f, int q)
{
    return (struct interval_grid){f->edge[q], f->width[q], f->slices_per_row[q], f->spread};
}

static void back_view_general(const struct cone_block *b, int v, int q, const struct reach *reach,
                              const float *column, float *out)
{
    const struct footprints *f = &b->footprints[v];
    const float *z2 = b->z_squared + v * b->projector->z_stride;
    back_general(b, cone_slices_of(f, q), reach->low[q], reach->high[q], column, b->spare);
    for (int64_t k = reach->low[q]; k < reach->high[q]; k++) {
        float square = 1 + (float)(f->slope[q] * f->slope[q]) * z2[k];
        out[k] += b->spare[k] * (b->power == 2 ? square : sqrtf(square));
    }
}

/* Returns the first column of the tile under a footprint. */
VEC_INLINE int64_t cone_column(const struct cone_block *b, int v, int q, const struct reach *reach)
{
    return v * b->view_stride + (b->footprints[v].start[q] + reach->skip[q]) * b->ld;
}

VEC_INLINE const float *cone_weights(const struct cone_block *b, int v, int q,
                                     const struct reach *reach)
{
    return b->footprints[v].weight + reach->skip[q] * BATCH + q;
}

/* Blends the footprint's columns. Returns 0 where nothing is left to do. */
VEC_INLINE int back_begin(const struct cone_block *b, int v, int q, const struct reach *reach,
                          const float *tile, float *out, struct resampling *r)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct interval_grid g = cone_slices_of(f, q);
    float *column = b->column + v * b->column_stride + CONE_PAD;
    if (reach->high[q] < 0)
        return 0;
    blend_taps(reach->taps[q], cone_weights(b, v, q, reach), tile + cone_column(b, v, q, reach),
               b->ld, align_down(reach->row_low[q]), cone_align_up(reach->row_high[q]), column);
    if (!is_fast(g.width, g.spread, p->windows.back)) {
        back_view_general(b, v, q, reach, column, out);
        return 0;
    }
    resampling_open(b, v, g, align_down(reach->low[q]), reach->high[q], r);
    return 1;
}

VEC_INLINE void scatter_rows(const struct resampling *r, const float *weight, float scale,
                             float *column, int64_t ld, int overlaps, int taps)
{
    const vf width = vf_set(r->width), lanes = overlaps > 3 ? group_iota() : vf_iota();
    const float *source = r->source, *fraction = r->fraction;
    const int32_t *cell = r->cell;
    const int each = overlaps > 3 ? GROUPS : 1;
    const float *const end = column + r->first + r->blocks * VEC;
    const float w0 = scale * weight[0], w1 = scale * weight[BATCH];
    const float w2 = taps == 3 ? scale * weight[2 * BATCH] : 0;
    for (column += r->first; column < end; column += VEC, fraction += each, cell += each) {
        const vf sum = resampling_at(source, fraction, cell, width, lanes, overlaps, 1);
        if (taps == 2 || taps == 3) {
            vf_store(column, vf_load(column) + w0 * sum);
            vf_store(column + ld, vf_load(column + ld) + w1 * sum);
            if (taps == 3)
                vf_store(column + 2 * ld, vf_load(column + 2 * ld) + w2 * sum);
            continue;
        }
        float *out = column;
        for (int k = 0; k < taps; k++, out += ld)
            vf_store(out, vf_load(out) + scale * weight[k * BATCH] * sum);
    }
}

static void scatter_general(const struct cone_block *b, const float *weight, int taps,
                            struct interval_grid g, int64_t low, int64_t high,
                            const float *cylinder, float *column)
{
    forward_general(b, g, low, high, cylinder, b->spare);
    for (int i = 0; i < taps; i++)
        for (int64_t m = low; m < high; m++)
            column[i * b->ld + m] += weight[i * BATCH] * b->spare[m];
}

static void cone_scatter(const struct resampling *r, const float *weight, int taps, float scale,
                         float *column, int64_t ld)
{
    switch (r->taps) {
    case 2:
        if (taps == 2)
            scatter_rows(r, weight, scale, column, ld, 2, 2);
        else if (taps == 3)
            scatter_rows(r, weight, scale, column, ld, 2, 3);
        else
            scatter_rows(r, weight, scale, column, ld, 2, taps);
        break;
    case 3:
        if (taps == 2)
            scatter_rows(r, weight, scale, column, ld, 3, 2);
        else if (taps == 3)
            scatter_rows(r, weight, scale, column, ld, 3, 3);
        else
            scatter_rows(r, weight, scale, column, ld, 3, taps);
        break;
    case 4:
        scatter_rows(r, weight, scale, column, ld, 4, taps);
        break;
    default:
        scatter_rows(r, weight, scale, column, ld, 5, taps);
    }
}

/* Multiplies the cylinder by 1/cos(psi); x is padded to a multiple of VEC. Returns 0 where nothing
 * is left to do. */
VEC_INLINE int forward_begin(const struct cone_block *b, int v, int q, const struct reach *reach,
                             const float *x, float *tile, struct resampling *r)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct interval_grid g = cone_slices_of(f, q);
    /* The same overlap seen from the rows: their edges on the axis of slices, whose cells start at
     * integers. */
    const struct interval_grid rows = {(-0.5 - g.edge) * g.inverse - 0.5, g.inverse, g.width, 0};
    const float *z2 = b->z_squared + v * p->z_stride;
    const struct cosine c = cosine_of(p, f->slope[q]);
    float *cylinder = b->column + v * b->column_stride + CONE_PAD;
    if (reach->high[q] < 0)
        return 0;
    for (int64_t k = align_down(reach->low[q]); k < reach->high[q]; k += VEC)
        vf_store(cylinder + k, vf_load(x + k) * inverse_cosine(&c, vf_load(z2 + k), 1));
    if (!is_fast(rows.width, g.spread, p->windows.forward)) {
        scatter_general(b, cone_weights(b, v, q, reach), reach->taps[q], g, reach->row_low[q],
                        reach->row_high[q], cylinder, tile + cone_column(b, v, q, reach));
        return 0;
    }
    resampling_open(b, v, rows, align_down(reach->row_low[q]), reach->row_high[q], r);
    return 1;
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
    struct reach reach[MAX_VIEWS];
    struct resampling r[MAX_VIEWS];
    for (int v = 0; v < b->views; v++)
        reach_find(b, &b->footprints[v], &reach[v]);
    for (int q = 0; q < b->pixels->n; q++) {
        const float *at = cone_padded(b, x + b->pixels->cylinder[q], b->copy);
        int n = 0;
        for (int v = 0; v < b->views; v++)
            n += forward_begin(b, v, q, &reach[v], at, tile, &r[n]);
        for (int i = 0; i < n; i++) {
            const int v = r[i].view;
            cone_scatter(&r[i], cone_weights(b, v, q, &reach[v]), reach[v].taps[q],
                         (float)b->footprints[v].width[q], tile + cone_column(b, v, q, &reach[v]),
                         b->ld);
        }
    }
}

static void cone_back(const struct cone_block *b, const float *tile, int set, float *x)
{
    const struct projector *p = b->projector;
    const int64_t slices = p->volume.slices;
    struct reach reach[MAX_VIEWS];
    struct resampling r[MAX_VIEWS];
    for (int v = 0; v < b->views; v++)
        reach_find(b, &b->footprints[v], &reach[v]);
    for (int q = 0; q < b->pixels->n; q++) {
        float *at = x + b->pixels->cylinder[q];
        if (set)
            memset(at, 0, (size_t)slices * sizeof *at);
        float *sums = slices % VEC == 0 ? at : b->copy;
        cone_padded(b, at, b->copy);
        int n = 0;
        for (int v = 0; v < b->views; v++)
            n += back_begin(b, v, q, &reach[v], tile, sums, &r[n]);
        for (int i = 0; i < n; i++) {
            const struct cosine c = cosine_of(p, b->footprints[r[i].view].slope[q]);
            back_fast[b->power - 1][r[i].taps](&r[i], &c,
                                               b->z_squared + r[i].view * p->z_stride, sums);
        }
        if (sums != at)
            memcpy(at, sums, (size_t)slices * sizeof *at);
    }
}

const struct cone_kernels ISA_NAME(cone_kernels) = {cone_forward, cone_back};
