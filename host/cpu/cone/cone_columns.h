/* Blends columns of a tile, and makes them and cylinders ready to be resampled, for the inner loops
 * of cone beams. */
#ifndef TP_CPU_CONE_CONE_COLUMNS_H
#define TP_CPU_CONE_CONE_COLUMNS_H

#include "host/cpu/cone/cone_vec.h"

VEC_INLINE int64_t cone_align_up(int64_t n)
{
    return (n + VEC - 1) / VEC * VEC;
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

VEC_INLINE void blend_taps(int taps, const float *weight, const float *column, int64_t ld,
                           int64_t low, int64_t high, float *out)
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
VEC_INLINE int overlap_taps(double width)
{
    return width <= 1 ? 2 : width <= NARROW ? 3 : width <= 3 ? 4 : 5;
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
                                struct cell_grid g, int64_t first, int64_t end,
                                struct resampling *r)
{
    const int wide = g.width > NARROW;
    const int64_t blocks = (end - first + VEC - 1) / VEC;
    float *fraction = b->fraction + view * b->blocks;
    int32_t *cell = b->cell + view * b->blocks;
    cells_locate(g, first, wide ? blocks * GROUPS : blocks, wide ? GROUP : VEC, fraction, cell);
    r->source = source;
    r->fraction = fraction;
    r->cell = cell;
    r->first = first;
    r->blocks = blocks;
    r->width = (float)g.width;
    r->view = view;
    r->taps = overlap_taps(g.width);
}

VEC_INLINE struct cell_grid cone_slices_of(const struct footprints *f, int q)
{
    return (struct cell_grid){f->edge[q], f->width[q], f->slices_per_row[q], f->spread};
}

/* The same overlap seen from the rows: their edges on the axis of slices, whose cells start at
 * integers. */
VEC_INLINE struct cell_grid cone_rows_of(struct cell_grid g)
{
    return (struct cell_grid){(-0.5 - g.edge) * g.inverse - 0.5, g.inverse, g.width, 0};
}

/* The cylinder's values, zero beyond the last slice up to a whole vector. */
VEC_INLINE const float *cone_padded(const struct cone_block *b, const float *x, float *copy)
{
    const int64_t slices = b->projector->volume.slices;
    if (slices % VEC == 0)
        return x;
    memcpy(copy, x, (size_t)slices * sizeof *x);
    for (int64_t k = slices; k < cone_align_up(slices); k++)
        copy[k] = 0;
    return copy;
}

#endif
