#include <math.h>

#include "host/cpu/cone_kernel.h"
#include "host/cpu/vec.h"

#define WIDEST                                                                                     \
    1.9 /* cells of one grid per cell of the other that a 32-float window can serve; below the 2   \
         * that the narrowest tap window holds, so what stays within it is never clipped */

/* A grid of intervals [edge + width*i, edge + width*(i+1)) laid over unit cells centred at
 * integers. */
struct grid {
    double edge, width, inverse; /* inverse = 1 / width */
};

/* 1/cos(psi): coefficients in z^2. */
struct cosine {
    vf c[4];
    int exact;
};

static int64_t clamp(double value, int64_t low, int64_t high)
{
    return value < (double)low ? low : value > (double)high ? high : (int64_t)value;
}

static int64_t align_down(int64_t n)
{
    return n / VEC * VEC;
}

static int64_t align_up(int64_t n)
{
    return (n + VEC - 1) / VEC * VEC;
}

static struct cosine cosine_of(const struct projector *p, double slope)
{
    struct cosine c = {.exact = p->cos_exact};
    double power = 1;
    for (int i = 0; i < 4; i++, power *= slope * slope)
        c.c[i] = vf_set((float)(p->cos_exact && i == 1 ? slope * slope : p->cos_poly[i] * power));
    return c;
}

VEC_INLINE vf inverse_cosine(const struct cosine *c, vf z_squared)
{
    if (c->exact)
        return vf_sqrt(1 + c->c[1] * z_squared);
    return c->c[0] + z_squared * (c->c[1] + z_squared * (c->c[2] + z_squared * c->c[3]));
}

/* For the blocks of VEC intervals from `first` on: the cell in which each block starts, and where
 * in it
 * (-0.5 .. 0.5). In float64, since edge + width*first may be thousands of cells. */
static void locate(struct grid g, int64_t first, int64_t blocks, float *fraction, int32_t *cell)
{
    for (int64_t i = 0; i < blocks; i++) {
        double at = g.edge + g.width * (double)(first + i * VEC), nearest = floor(at + 0.5);
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
    struct window w = window_open(source);
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

/* The part of a footprint that is not zero, at least one tap. Half of all footprints of three taps
 * have but two, and a tap costs as much as a sixth of the vertical resampling. */
struct taps {
    const float *weight; /* at strides of BATCH */
    int64_t skip;        /* columns before the first */
    int count;
};

static struct taps trim(const struct footprints *f, int q, int taps)
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
                      int64_t low, int64_t high, int taps)
{
    float *out = b->detector + CONE_PAD;
    for (int64_t m = low - 48; m < low; m += VEC)
        vf_store(out + m, (vf){0});
    for (int64_t m = low; m < high; m += VEC) {
        vf sum = weight[0] * vf_load(column + m);
        for (int t = 1; t < taps; t++)
            sum += weight[t * BATCH] * vf_load(column + t * b->ld + m);
        vf_store(out + m, sum);
    }
    for (int64_t m = high; m < high + 48; m += VEC)
        vf_store(out + m, (vf){0});
}

/* The contract's own enumeration, for voxels wider or finer than `overlap` serves, or wider than
 * its window. */
static void back_general(const struct cone_block *b, struct grid g, int64_t low, int64_t high)
{
    const int radius = b->projector->windows.back;
    const int64_t rows = b->projector->scan.rows;
    const float *in = b->detector + CONE_PAD;
    for (int64_t k = low; k < high; k++) {
        double row = g.edge + g.width * ((double)k + 0.5), centre = rint(row), sum = 0;
        int64_t from = clamp(centre - radius, 0, rows), to = clamp(centre + radius + 1, 0, rows);
        for (int64_t m = from; m < to; m++) {
            double tau = fmin(0.5 * (g.width + 1) - fabs(row - (double)m), fmin(1, g.width));
            if (tau > 0)
                sum += (b->power == 2 ? tau * tau : tau) * (double)in[m];
        }
        b->cylinder[CONE_PAD + k] = (float)sum;
    }
}

static void forward_general(const struct cone_block *b, struct grid g, int64_t low, int64_t high,
                            float *out)
{
    const int radius = b->projector->windows.forward;
    const int64_t slices = b->projector->volume.slices;
    const float *in = b->cylinder + CONE_PAD;
    for (int64_t m = low; m < high; m++) {
        double slice = ((double)m - g.edge) / g.width - 0.5, centre = rint(slice), sum = 0;
        int64_t from = clamp(centre - radius, 0, slices),
                to = clamp(centre + radius + 1, 0, slices);
        for (int64_t k = from; k < to; k++) {
            double row = g.edge + g.width * ((double)k + 0.5);
            double tau = fmin(0.5 * (g.width + 1) - fabs(row - (double)m), fmin(1, g.width));
            if (tau > 0)
                sum += tau * (double)in[k];
        }
        out[m] = (float)sum;
    }
}

/* All taps are guards. */
static int misses(const struct projector *p, int32_t start)
{
    return start == 0 || start == p->columns - p->taps;
}

/* Slices that can touch the detector, one spare on each side: their weights come out as 0. */
static int slices_seen(const struct cone_block *b, struct grid g, int64_t *low, int64_t *high)
{
    const int64_t slices = b->projector->volume.slices;
    *low = clamp(floor((-0.5 - g.edge) * g.inverse) - 1, 0, slices);
    *high =
        clamp(ceil(((double)b->projector->scan.rows - 0.5 - g.edge) * g.inverse) + 1, 0, slices);
    return *low < *high;
}

/* Detector rows that slices [low, high) touch. */
static int rows_seen(const struct cone_block *b, struct grid g, int64_t *low, int64_t *high)
{
    const int64_t rows = b->projector->scan.rows;
    int64_t first = clamp(floor(g.edge + g.width * (double)*low - 0.5), 0, rows);
    int64_t last = clamp(ceil(g.edge + g.width * (double)*high + 0.5) + 1, 0, rows);
    *low = first;
    *high = last;
    return first < last;
}

VEC_INLINE void back_fast(const struct cone_block *b, struct grid g, const struct cosine *c,
                          const float *z2, int64_t low, int64_t high, float *out, int wide,
                          int power)
{
    const vf width = vf_set((float)g.width), lanes = vf_iota();
    const float *in = b->detector + CONE_PAD;
    const int64_t blocks = (high - low + VEC - 1) / VEC;
    locate(g, low, blocks, b->fraction, b->cell);
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t k = low + i * VEC;
        vf factor = inverse_cosine(c, vf_load(z2 + k));
        if (power == 2)
            factor *= factor;
        vf sum = overlap(in + b->cell[i], b->fraction[i], width, lanes, wide, power);
        vf_store(out + k, vf_load(out + k) + factor * sum);
    }
}

static void back_view(const struct cone_block *b, int v, int q, const float *tile, float *out)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct grid g = {f->edge[q], f->width[q], f->slices_per_row[q]};
    const struct taps t = trim(f, q, p->taps);
    const float *column = tile + v * b->view_stride + (f->start[q] + t.skip) * b->ld;
    const float *z2 = b->z_squared + v * p->z_stride;
    const struct cosine c = cosine_of(p, f->slope[q]);
    int64_t low, high, row_low, row_high;
    if (misses(p, f->start[q]) || !slices_seen(b, g, &low, &high))
        return;
    row_low = low, row_high = high;
    if (!rows_seen(b, g, &row_low, &row_high))
        return;
    row_low = align_down(row_low), row_high = align_up(row_high);
    if (t.count == 2)
        blend(b, t.weight, column, row_low, row_high, 2);
    else if (t.count == 3)
        blend(b, t.weight, column, row_low, row_high, 3);
    else
        blend(b, t.weight, column, row_low, row_high, t.count);
    if (g.width > WIDEST) {
        back_general(b, g, low, high);
        for (int64_t k = low; k < high; k++) {
            float square = 1 + (float)(f->slope[q] * f->slope[q]) * z2[k];
            out[k] += b->cylinder[CONE_PAD + k] * (b->power == 2 ? square : sqrtf(square));
        }
        return;
    }
    low = align_down(low);
    if (b->power == 2)
        back_fast(b, g, &c, z2, low, high, out, 1, 2);
    else if (g.width > 1)
        back_fast(b, g, &c, z2, low, high, out, 1, 1);
    else
        back_fast(b, g, &c, z2, low, high, out, 0, 1);
}

VEC_INLINE void scatter_fast(const struct cone_block *b, const float *weight, struct grid g,
                             int64_t low, int64_t high, float *column, int wide, int taps)
{
    const vf width = vf_set((float)g.width), lanes = vf_iota();
    const float *in = b->cylinder + CONE_PAD, rows_per_slice = (float)g.inverse;
    const int64_t blocks = (high - low + VEC - 1) / VEC;
    locate(g, low, blocks, b->fraction, b->cell);
    for (int64_t i = 0; i < blocks; i++) {
        vf sum = rows_per_slice * overlap(in + b->cell[i], b->fraction[i], width, lanes, wide, 1);
        float *out = column + low + i * VEC;
        for (int t = 0; t < taps; t++, out += b->ld)
            vf_store(out, vf_load(out) + weight[t * BATCH] * sum);
    }
}

static void scatter_general(const struct cone_block *b, const struct taps *t, struct grid g,
                            int64_t low, int64_t high, float *column)
{
    forward_general(b, g, low, high, b->detector + CONE_PAD);
    for (int i = 0; i < t->count; i++)
        for (int64_t m = low; m < high; m++)
            column[i * b->ld + m] += t->weight[i * BATCH] * b->detector[CONE_PAD + m];
}

static void scatter(const struct cone_block *b, const struct taps *t, struct grid rows, int64_t low,
                    int64_t high, float *column)
{
    const float *w = t->weight;
    low = align_down(low);
    if (rows.width > 1)
        scatter_fast(b, w, rows, low, high, column, 1, t->count);
    else if (t->count == 2)
        scatter_fast(b, w, rows, low, high, column, 0, 2);
    else if (t->count == 3)
        scatter_fast(b, w, rows, low, high, column, 0, 3);
    else
        scatter_fast(b, w, rows, low, high, column, 0, t->count);
}

/* `x` is padded to a multiple of VEC. */
static void forward_view(const struct cone_block *b, int v, int q, const float *x, float *tile)
{
    const struct projector *p = b->projector;
    const struct footprints *f = &b->footprints[v];
    const struct grid g = {f->edge[q], f->width[q], f->slices_per_row[q]};
    /* The same overlap seen from the rows: their edges on the axis of slices, whose cells start at
     * integers. */
    const struct grid rows = {(-0.5 - g.edge) * g.inverse - 0.5, g.inverse, g.width};
    const float *z2 = b->z_squared + v * p->z_stride;
    const struct taps t = trim(f, q, p->taps);
    float *column = tile + v * b->view_stride + (f->start[q] + t.skip) * b->ld;
    const struct cosine c = cosine_of(p, f->slope[q]);
    int64_t low, high;
    if (misses(p, f->start[q]) || !slices_seen(b, g, &low, &high))
        return;
    for (int64_t k = align_down(low); k < high; k += VEC)
        vf_store(b->cylinder + CONE_PAD + k, vf_load(x + k) * inverse_cosine(&c, vf_load(z2 + k)));
    if (!rows_seen(b, g, &low, &high))
        return;
    if (rows.width > WIDEST)
        scatter_general(b, &t, g, low, high, column);
    else
        scatter(b, &t, rows, low, high, column);
}

/* The cylinder's values, zero beyond the last slice up to a whole vector. */
static const float *padded(const struct cone_block *b, const float *x, float *copy)
{
    const int64_t slices = b->projector->volume.slices;
    if (slices % VEC == 0)
        return x;
    memcpy(copy, x, (size_t)slices * sizeof *x);
    for (int64_t k = slices; k < align_up(slices); k++)
        copy[k] = 0;
    return copy;
}

static void forward(const struct cone_block *b, const float *x, float *tile)
{
    for (int q = 0; q < b->pixels->n; q++) {
        const float *at = padded(b, x + b->pixels->cylinder[q], b->copy);
        for (int v = 0; v < b->views; v++)
            forward_view(b, v, q, at, tile);
    }
}

static void back(const struct cone_block *b, const float *tile, int set, float *x)
{
    const int64_t slices = b->projector->volume.slices;
    for (int q = 0; q < b->pixels->n; q++) {
        float *at = x + b->pixels->cylinder[q];
        if (set)
            memset(at, 0, (size_t)slices * sizeof *at);
        float *sums = slices % VEC == 0 ? at : b->copy;
        padded(b, at, b->copy);
        for (int v = 0; v < b->views; v++)
            back_view(b, v, q, tile, sums);
        if (sums != at)
            memcpy(at, sums, (size_t)slices * sizeof *at);
    }
}

const struct cone_kernels ISA_NAME(cone_kernels) = {forward, back};
