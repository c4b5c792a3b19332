/* Cone beams, inner loops over orbits (orbit.h): the overlap of slices and rows is found once for
 * the cylinders of all members. */
#include "host/cpu/cone/cone_columns.h"
#include "host/cpu/cone/orbit.h"

/* out = x / cos(psi) of the members' cylinders, which lie `stride` apart in out. */
VEC_INLINE void orbit_weigh(const struct cosine *cosine, const float *z2, const float *const x[],
                            int64_t low, int64_t high, float *out, int64_t stride,
                            enum cosine_form form, int members)
{
    const struct cosine c = *cosine;
    const float *at[ORBIT_MOST];
    for (int m = 0; m < members; m++)
        at[m] = x[m];
    for (int64_t k = low; k < high; k += VEC) {
        const vf factor = inverse_cosine(&c, vf_load(z2 + k), form, 1);
#pragma GCC unroll 4
        for (int m = 0; m < members; m++)
            vf_store(out + m * stride + k, vf_load(at[m] + k) * factor);
    }
}

/* Adds the members' resampled cylinders to `taps` columns of each. */
VEC_INLINE void orbit_scatter(const struct orbit_block *o, const struct resampling *r, int q,
                              float *tile, int wide, int taps, int members)
{
    const struct cone_block *b = o->cone;
    const struct footprints *f = &b->footprints[r->view * members];
    const int64_t ld = b->ld, stride = b->column_stride, skip = b->reach[r->view].skip[q];
    const float scale = (float)f->width[q];
    const vf width = vf_set(r->width), lanes = vf_iota();
    float *column[ORBIT_MOST];
    vf weight[ORBIT_MOST][3];
    for (int m = 0; m < members; m++) {
        column[m] = tile + m * o->member_stride + r->view * b->view_stride +
                    (f[m].start[q] + skip) * ld + r->first;
        for (int t = 0; t < taps && t < 3; t++)
            weight[m][t] = vf_set(scale * f[m].weight[(skip + t) * BATCH + q]);
    }
    for (int64_t i = 0; i < r->blocks; i++) {
        const struct overlaps w = overlaps_of(r->fraction[i], width, lanes, wide, 1);
        const float *source = r->source + r->cell[i];
#pragma GCC unroll 4
        for (int m = 0; m < members; m++) {
            const vf sum = overlaps_sum(source + m * stride, &w, wide);
            float *to = column[m] + i * VEC;
#pragma GCC unroll 3
            for (int t = 0; t < taps; t++, to += ld) {
                const vf by =
                    t < 3 ? weight[m][t] : vf_set(scale * f[m].weight[(skip + t) * BATCH + q]);
                vf_store(to, vf_load(to) + by * sum);
            }
        }
    }
}

VEC_INLINE void orbit_scatter_taps(const struct orbit_block *o, const struct resampling *r, int q,
                                   float *tile, int wide, int members)
{
    const int taps = o->cone->reach[r->view].taps[q];
    if (taps == 2)
        orbit_scatter(o, r, q, tile, wide, 2, members);
    else if (taps == 3)
        orbit_scatter(o, r, q, tile, wide, 3, members);
    else
        orbit_scatter(o, r, q, tile, wide, taps, members);
}

VEC_INLINE void orbit_weigh_form(const struct orbit_block *o, double slope, const float *const x[],
                                 int64_t low, int64_t high, float *out, int members)
{
    const struct projector *p = o->cone->projector;
    const struct cosine c = cosine_of(p, slope);
    const float *z2 = p->z_squared;
    const int64_t stride = o->cone->column_stride;
    if (p->cosine == COSINE_QUADRATIC)
        orbit_weigh(&c, z2, x, low, high, out, stride, COSINE_QUADRATIC, members);
    else if (p->cosine == COSINE_CUBIC)
        orbit_weigh(&c, z2, x, low, high, out, stride, COSINE_CUBIC, members);
    else
        orbit_weigh(&c, z2, x, low, high, out, stride, COSINE_EXACT, members);
}

VEC_INLINE void orbit_forward_pixel(const struct orbit_block *o, int q, const float *const x[],
                                    float *tile, int members)
{
    const struct cone_block *b = o->cone;
    struct resampling r[MAX_VIEWS];
    int n = 0;
    for (int v = 0; v < b->views; v++) {
        const struct cell_grid g = cone_slices_of(&b->footprints[v * members], q);
        const struct cone_reach *reach = &b->reach[v];
        float *cylinder = b->cylinder + v * members * b->column_stride + CONE_PAD;
        if (reach->high[q] < 0)
            continue;
        orbit_weigh_form(o, b->footprints[v * members].slope[q], x, align_down(reach->low[q]),
                         reach->high[q], cylinder, members);
        resampling_open(b, cylinder, v, cone_rows_of(g), align_down(reach->row_low[q]),
                        reach->row_high[q], &r[n++]);
    }
    for (int i = 0; i < n; i++)
        if (r[i].taps == 3)
            orbit_scatter_taps(o, &r[i], q, tile, 1, members);
        else
            orbit_scatter_taps(o, &r[i], q, tile, 0, members);
}

static void orbit_forward_block(const struct orbit_block *o, const float *x, float *tile)
{
    for (int q = 0; q < o->pixels[0]->n; q++) {
        const float *at[ORBIT_MOST];
        for (int m = 0; m < o->members; m++)
            at[m] = cone_padded(o->cone, x + o->pixels[m]->cylinder[q],
                                o->cone->copy + m * o->cone->column_stride);
        if (o->members == 4)
            orbit_forward_pixel(o, q, at, tile, 4);
        else
            orbit_forward_pixel(o, q, at, tile, 2);
    }
}

/* Adds the members' resampled columns to their cylinders. */
VEC_INLINE void orbit_gather(const struct orbit_block *o, const struct resampling *r,
                             const struct cosine *cosine, float *const out[], enum cosine_form form,
                             int wide, int members, int power)
{
    const struct cosine c = *cosine;
    const vf width = vf_set(r->width), lanes = vf_iota();
    const float *z2 = o->cone->projector->z_squared + r->first;
    const int64_t stride = o->cone->column_stride;
    float *at[ORBIT_MOST];
    for (int m = 0; m < members; m++)
        at[m] = out[m] + r->first;
    for (int64_t i = 0; i < r->blocks; i++) {
        struct overlaps w = overlaps_of(r->fraction[i], width, lanes, wide, power);
        const vf factor = inverse_cosine(&c, vf_load(z2 + i * VEC), form, power);
        const float *source = r->source + r->cell[i];
        w.first *= factor, w.second *= factor, w.third *= factor;
#pragma GCC unroll 4
        for (int m = 0; m < members; m++) {
            float *to = at[m] + i * VEC;
            vf_store(to, overlaps_add(vf_load(to), source + m * stride, &w, wide));
        }
    }
}

VEC_INLINE void orbit_gather_form(const struct orbit_block *o, const struct resampling *r,
                                  const struct cosine *c, float *const out[], int wide, int members)
{
    const enum cosine_form form = o->cone->projector->cosine;
    if (o->cone->power == 2)
        orbit_gather(o, r, c, out, COSINE_EXACT, wide, members, 2);
    else if (form == COSINE_QUADRATIC)
        orbit_gather(o, r, c, out, COSINE_QUADRATIC, wide, members, 1);
    else if (form == COSINE_CUBIC)
        orbit_gather(o, r, c, out, COSINE_CUBIC, wide, members, 1);
    else
        orbit_gather(o, r, c, out, COSINE_EXACT, wide, members, 1);
}

/* Blends `taps` columns of each member, for rows [low, high), both multiples of VEC; the results lie
 * `column_stride` apart. */
VEC_INLINE void orbit_blend(const struct orbit_block *o, int v, int q, const float *tile,
                            int64_t low, int64_t high, float *out, int taps, int members)
{
    const struct cone_block *b = o->cone;
    const struct footprints *f = &b->footprints[v * members];
    const int64_t ld = b->ld, stride = b->column_stride, skip = b->reach[v].skip[q];
    const float *column[ORBIT_MOST];
    vf weight[ORBIT_MOST][3];
    for (int m = 0; m < members; m++) {
        column[m] = tile + m * o->member_stride + v * b->view_stride + (f[m].start[q] + skip) * ld;
        for (int t = 0; t < taps && t < 3; t++)
            weight[m][t] = vf_set(f[m].weight[(skip + t) * BATCH + q]);
    }
    for (int64_t k = low; k < high; k += VEC)
#pragma GCC unroll 4
        for (int m = 0; m < members; m++) {
            const float *from = column[m] + k;
            vf sum = weight[m][0] * vf_load(from);
#pragma GCC unroll 3
            for (int t = 1; t < taps; t++)
                sum += (t < 3 ? weight[m][t] : vf_set(f[m].weight[(skip + t) * BATCH + q])) *
                       vf_load(from + t * ld);
            vf_store(out + m * stride + k, sum);
        }
}

VEC_INLINE void orbit_blend_taps(const struct orbit_block *o, int v, int q, const float *tile,
                                 float *out, int members)
{
    const struct cone_reach *reach = &o->cone->reach[v];
    const int64_t low = align_down(reach->row_low[q]), high = cone_align_up(reach->row_high[q]);
    if (reach->taps[q] == 2)
        orbit_blend(o, v, q, tile, low, high, out, 2, members);
    else if (reach->taps[q] == 3)
        orbit_blend(o, v, q, tile, low, high, out, 3, members);
    else
        orbit_blend(o, v, q, tile, low, high, out, reach->taps[q], members);
}

/* Columns from here on are resampled view by view: those of two views exceed L1 with the tile's. */
#define LONG_COLUMN 384

VEC_INLINE void orbit_back_pixel(const struct orbit_block *o, int q, const float *tile,
                                 float *const out[], int members)
{
    const struct cone_block *b = o->cone;
    const int alone = b->column_stride > LONG_COLUMN + 2 * CONE_PAD;
    struct resampling r[MAX_VIEWS];
    int n = 0;
    for (int v = 0; v < b->views; v++) {
        const struct footprints *f = &b->footprints[v * members];
        const struct cone_reach *reach = &b->reach[v];
        float *column = b->detector + n * members * b->column_stride + CONE_PAD;
        if (reach->high[q] >= 0) {
            orbit_blend_taps(o, v, q, tile, column, members);
            resampling_open(b, column, v, cone_slices_of(f, q), align_down(reach->low[q]),
                            reach->high[q], &r[n++]);
        }
        if (!alone && v < b->views - 1)
            continue;
        for (int i = 0; i < n; i++) {
            const struct cosine c =
                cosine_of(b->projector, b->footprints[r[i].view * members].slope[q]);
            if (r[i].taps == 3)
                orbit_gather_form(o, &r[i], &c, out, 1, members);
            else
                orbit_gather_form(o, &r[i], &c, out, 0, members);
        }
        n = 0;
    }
}

static void orbit_back_block(const struct orbit_block *o, const float *tile, float *x)
{
    const int64_t slices = o->cone->projector->volume.slices;
    for (int q = 0; q < o->pixels[0]->n; q++) {
        float *at[ORBIT_MOST], *sums[ORBIT_MOST];
        for (int m = 0; m < o->members; m++) {
            float *copy = o->cone->copy + m * o->cone->column_stride;
            at[m] = x + o->pixels[m]->cylinder[q];
            sums[m] = slices % VEC == 0 ? at[m] : copy;
            cone_padded(o->cone, at[m], copy);
        }
        if (o->members == 4)
            orbit_back_pixel(o, q, tile, sums, 4);
        else
            orbit_back_pixel(o, q, tile, sums, 2);
        for (int m = 0; m < o->members; m++)
            if (sums[m] != at[m])
                memcpy(at[m], sums[m], (size_t)slices * sizeof **at);
    }
}

const struct orbit_kernels ISA_NAME(orbit_kernels) = {orbit_forward_block, orbit_back_block};
