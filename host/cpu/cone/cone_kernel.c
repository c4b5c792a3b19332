/* Cone beams, inner loops: a footprint's columns are blended, then resampled between rows and
 * slices by the overlap of two uniform grids, a vector of intervals at a time. */
#include <math.h>

#include "host/cpu/cone/cone_columns.h"

VEC_INLINE vf raised(vf weight, int power)
{
    if (power == 2)
        weight *= weight;
    return weight;
}

/* Sum of source cells times their overlap with intervals of widths up to 3 (4 taps) or 3.75 (5);
 * each group of intervals starts from its own `cell` and `fraction`. */
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

/* The fast path clips nothing, as the contract does not either while a width stays within the
 * window of taps. */
static int is_fast(double width, double spread, int radius)
{
    return spread == 0 && (width <= NARROW || (width <= WIDEST && width <= 2.0 * radius));
}

VEC_INLINE vf resampling_at(const float *source, const float *fraction, const int32_t *cell,
                            vf width, vf lanes, int taps, int power)
{
    if (taps > 3)
        return overlap_wide(source, cell, fraction, width, lanes, taps, power);
    const struct overlaps o = overlaps_of(*fraction, width, lanes, taps == 3, power);
    return overlaps_sum(source + *cell, &o, taps == 3);
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
    const struct cell_grid g = cone_slices_of(f, q);
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
                            struct cell_grid g, int64_t low, int64_t high, const float *cylinder,
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
    const struct cell_grid g = cone_slices_of(f, q);
    const struct cell_grid rows = cone_rows_of(g);
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
