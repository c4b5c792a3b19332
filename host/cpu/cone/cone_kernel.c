/* Cone beams, inner loops: a footprint's columns are blended, then resampled between rows and
 * slices by the overlap of two uniform grids, a vector of intervals at a time. */
#include <math.h>

#include "host/cpu/cone/cone_worker.h"
#include "host/cpu/common/vec_window.h"

/* Cells of one grid per cell of the other that a window of 32 floats serves: one window for a whole
 * vector, or one for each group of its lanes. */
#define NARROW 1.9
#define WIDEST 3.75

/* 1/cos(psi): coefficients in z^2. */
struct cosine {
    float c[4], square; /* square: of its square, beside 1 */
};

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
    const double square = slope * slope;
    struct cosine c = {.square = (float)square};
    double power = 1;
    for (int i = 0; i < 4; i++, power *= square)
        c.c[i] = (float)(p->cos_poly[i] * power);
    return c;
}

VEC_INLINE vf inverse_cosine(const struct cosine *c, vf z_squared, enum cosine_form form, int power)
{
    const vf square = 1 + c->square * z_squared;
    if (power == 2)
        return square;
    if (form == COSINE_EXACT)
        return vf_sqrt(square);
    vf high = vf_set(c->c[2]);
    if (form == COSINE_CUBIC)
        high += z_squared * c->c[3];
    return c->c[0] + z_squared * (c->c[1] + z_squared * high);
}

#define LOCATED 8 /* blocks that cone_locate finds together */
typedef double located __attribute__((vector_size(LOCATED * sizeof(double))));
typedef float located_float __attribute__((vector_size(LOCATED * sizeof(float)), aligned(4)));
typedef int32_t located_int __attribute__((vector_size(LOCATED * sizeof(int32_t)), aligned(4)));

/* For blocks of `step` intervals from `first` on: the cell in which each block starts, and where in
 * it (0 .. 1). In float64, since edge + width*first may be thousands of cells. Writes up to LOCATED
 * - 1 blocks more. */
VEC_INLINE void cone_locate(struct cone_grid g, int64_t first, int64_t blocks, int step,
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

/* Rounds floats in [0, 32) down to an integer, biased likewise. Without AVX-512 an integer may come
 * out as the one below it. */
VEC_INLINE vf vf_index(vf a)
{
#if defined(__AVX512F__)
    return (vf)_mm512_add_round_ps((__m512)a, _mm512_set1_ps(VF_INDEX_BIAS),
                                   _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
    return (a - 0.5f) + VF_INDEX_BIAS;
#endif
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
    const float w0 = weight[0], w1 = weight[BATCH], w2 = taps == 3 ? weight[2 * BATCH] : 0;
    for (int64_t m = low; m < high; m += VEC) {
        vf sum = w0 * vf_load(column + m) + w1 * vf_load(column + ld + m);
        if (taps == 3)
            sum += w2 * vf_load(column + 2 * ld + m);
        vf_store(out + m, sum);
    }
}

static void blend_taps(int taps, const float *weight, const float *column, int64_t ld, int64_t low,
                       int64_t high, float *out)
{
    if (taps == 2) {
        blend(weight, column, ld, low, high, out, 2);
    } else if (taps == 3) {
        blend(weight, column, ld, low, high, out, 3);
    } else {
        for (int64_t m = low; m < high; m += VEC) {
            vf sum = weight[0] * vf_load(column + m);
            for (int t = 1; t < taps; t++)
                sum += weight[t * BATCH] * vf_load(column + t * ld + m);
            vf_store(out + m, sum);
        }
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

VEC_INLINE void resampling_open(const struct cone_block *b, const float *source, int view,
                                struct cone_grid g, int64_t first, int64_t end,
                                struct resampling *r)
{
    const int wide = g.width > NARROW;
    const int64_t blocks = (end - first + VEC - 1) / VEC;
    float *fraction = b->fraction + view * b->blocks;
    int32_t *cell = b->cell + view * b->blocks;
    cone_locate(g, first, wide ? blocks * GROUPS : blocks, wide ? GROUP : VEC, fraction, cell);
    r->source = source;
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
                            const float *z2, float *out, enum cosine_form form, int taps, int power)
{
    const vf width = vf_set(r->width), lanes = taps > 3 ? group_iota() : vf_iota();
    const struct cosine c = *cosine;
    const float *source = r->source, *fraction = r->fraction;
    const int32_t *cell = r->cell;
    const int each = taps > 3 ? GROUPS : 1;
    const float *const end = out + r->first + r->blocks * VEC;
    z2 += r->first;
    for (out += r->first; out < end; out += VEC, z2 += VEC, fraction += each, cell += each) {
        const vf factor = inverse_cosine(&c, vf_load(z2), form, power);
        vf_store(out, vf_load(out) + factor * resampling_at(source, fraction, cell, width, lanes,
                                                            taps, power));
    }
}

#define BACK_SLICES(name, taps)                                                                    \
    static void name(const struct resampling *r, const struct cosine *c, const float *z2,          \
                     float *out, enum cosine_form form, int power)                                 \
    {                                                                                              \
        if (power == 2)                                                                            \
            back_slices(r, c, z2, out, COSINE_EXACT, taps, 2);                                     \
        else if (form == COSINE_QUADRATIC)                                                         \
            back_slices(r, c, z2, out, COSINE_QUADRATIC, taps, 1);                                 \
        else if (form == COSINE_CUBIC)                                                             \
            back_slices(r, c, z2, out, COSINE_CUBIC, taps, 1);                                     \
        else                                                                                       \
            back_slices(r, c, z2, out, COSINE_EXACT, taps, 1);                                     \
    }
BACK_SLICES(back_2, 2)
BACK_SLICES(back_3, 3)
BACK_SLICES(back_4, 4)
BACK_SLICES(back_5, 5)

/* By overlap_taps(). */
static void (*const back_fast[6])(const struct resampling *, const struct cosine *, const float *,
                                  float *, enum cosine_form,
                                  int) = {NULL, NULL, back_2, back_3, back_4, back_5};

VEC_INLINE struct cone_grid cone_slices_of(const struct footprints *f, int q)
{
    return (struct cone_grid){f->edge[q], f->width[q], f->slices_per_row[q], f->spread};
}

static void back_view_general(const struct cone_block *b, int v, int q,
                              const struct cone_reach *reach, const float *column, float *out)
{
    const struct footprints *f = &b->footprints[v];
    const float *z2 = b->z_squared + v * b->projector->z_stride;
    cone_back_general(b, cone_slices_of(f, q), reach->low[q], reach->high[q], column, b->spare);
    for (int64_t k = reach->low[q]; k < reach->high[q]; k++) {
        float square = 1 + (float)(f->slope[q] * f->slope[q]) * z2[k];
        out[k] += b->spare[k] * (b->power == 2 ? square : sqrtf(square));
    }
}

/* Returns the first column of the tile under a footprint. */
VEC_INLINE int64_t cone_column(const struct cone_block *b, int v, int q,
                               const struct cone_reach *reach)
{
    return v * b->view_stride + (b->footprints[v].start[q] + reach->skip[q]) * b->ld;
}

VEC_INLINE const float *cone_weights(const struct cone_block *b, int v, int q,
                                     const struct cone_reach *reach)
{
    return b->footprints[v].weight + reach->skip[q] * BATCH + q;
}

/* Blends the footprint's columns. Returns 0 where nothing is left to do. */
VEC_INLINE int back_begin(const struct cone_block *b, int v, int q, const struct cone_reach *reach,
                          const float *tile, float *out, struct resampling *r)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct cone_grid g = cone_slices_of(f, q);
    float *column = b->detector + v * b->column_stride + CONE_PAD;
    if (reach->high[q] < 0)
        return 0;
    blend_taps(reach->taps[q], cone_weights(b, v, q, reach), tile + cone_column(b, v, q, reach),
               b->ld, align_down(reach->row_low[q]), cone_align_up(reach->row_high[q]), column);
    if (!is_fast(g.width, g.spread, p->windows.back)) {
        back_view_general(b, v, q, reach, column, out);
        return 0;
    }
    resampling_open(b, column, v, g, align_down(reach->low[q]), reach->high[q], r);
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
    const float w0 = scale * weight[0], w1 = taps > 1 ? scale * weight[BATCH] : 0;
    const float w2 = taps > 2 ? scale * weight[2 * BATCH] : 0;
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
                            struct cone_grid g, int64_t low, int64_t high, const float *cylinder,
                            float *column)
{
    cone_forward_general(b, g, low, high, cylinder, b->spare);
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

/* Multiplies slices by 1/cos(psi). */
static void weigh_cylinder(const struct cosine *cosine, enum cosine_form form, const float *z2,
                           const float *x, int64_t low, int64_t high, float *out)
{
    const struct cosine c = *cosine;
    if (form == COSINE_QUADRATIC)
        for (int64_t k = low; k < high; k += VEC)
            vf_store(out + k,
                     vf_load(x + k) * inverse_cosine(&c, vf_load(z2 + k), COSINE_QUADRATIC, 1));
    else if (form == COSINE_CUBIC)
        for (int64_t k = low; k < high; k += VEC)
            vf_store(out + k,
                     vf_load(x + k) * inverse_cosine(&c, vf_load(z2 + k), COSINE_CUBIC, 1));
    else
        for (int64_t k = low; k < high; k += VEC)
            vf_store(out + k,
                     vf_load(x + k) * inverse_cosine(&c, vf_load(z2 + k), COSINE_EXACT, 1));
}

/* Multiplies the cylinder by 1/cos(psi); x is padded to a multiple of VEC. Returns 0 where nothing
 * is left to do. */
VEC_INLINE int forward_begin(const struct cone_block *b, int v, int q,
                             const struct cone_reach *reach, const float *x, float *tile,
                             struct resampling *r)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct cone_grid g = cone_slices_of(f, q);
    /* The same overlap seen from the rows: their edges on the axis of slices, whose cells start at
     * integers. */
    const struct cone_grid rows = {(-0.5 - g.edge) * g.inverse - 0.5, g.inverse, g.width, 0};
    const float *z2 = b->z_squared + v * p->z_stride;
    const struct cosine c = cosine_of(p, f->slope[q]);
    float *cylinder = b->cylinder + v * b->column_stride + CONE_PAD;
    if (reach->high[q] < 0)
        return 0;
    weigh_cylinder(&c, p->cosine, z2, x, align_down(reach->low[q]), reach->high[q], cylinder);
    if (!is_fast(rows.width, g.spread, p->windows.forward)) {
        scatter_general(b, cone_weights(b, v, q, reach), reach->taps[q], g, reach->row_low[q],
                        reach->row_high[q], cylinder, tile + cone_column(b, v, q, reach));
        return 0;
    }
    resampling_open(b, cylinder, v, rows, align_down(reach->row_low[q]), reach->row_high[q], r);
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
    struct resampling r[MAX_VIEWS];
    for (int q = 0; q < b->pixels->n; q++) {
        const float *at = cone_padded(b, x + b->pixels->cylinder[q], b->copy);
        int n = 0;
        for (int v = 0; v < b->views; v++)
            n += forward_begin(b, v, q, &b->reach[v], at, tile, &r[n]);
        for (int i = 0; i < n; i++) {
            const int v = r[i].view;
            cone_scatter(&r[i], cone_weights(b, v, q, &b->reach[v]), b->reach[v].taps[q],
                         (float)b->footprints[v].width[q],
                         tile + cone_column(b, v, q, &b->reach[v]), b->ld);
        }
    }
}

static void cone_back(const struct cone_block *b, const float *tile, int set, float *x)
{
    const struct projector *p = b->projector;
    const int64_t slices = p->volume.slices;
    struct resampling r[MAX_VIEWS];
    for (int q = 0; q < b->pixels->n; q++) {
        float *at = x + b->pixels->cylinder[q];
        if (set)
            memset(at, 0, (size_t)slices * sizeof *at);
        float *sums = slices % VEC == 0 ? at : b->copy;
        cone_padded(b, at, b->copy);
        int n = 0;
        for (int v = 0; v < b->views; v++)
            n += back_begin(b, v, q, &b->reach[v], tile, sums, &r[n]);
        for (int i = 0; i < n; i++) {
            const struct cosine c = cosine_of(p, b->footprints[r[i].view].slope[q]);
            back_fast[r[i].taps](&r[i], &c, b->z_squared + r[i].view * p->z_stride, sums, p->cosine,
                                 b->power);
        }
        if (sums != at)
            memcpy(at, sums, (size_t)slices * sizeof *at);
    }
}

const struct cone_kernels ISA_NAME(cone_kernels) = {cone_forward, cone_back};
