/* Lines of pixels to channels and back (lines.h): the overlap of two uniform grids, found once for
 * all slices. */
#include <math.h>

#include "host/cpu/common/vec_overlap.h"
#include "host/cpu/parallel/lines.h"

/* Intervals within `most` that touch the cells; from a multiple of VEC on. */
VEC_INLINE struct line_range line_intervals(struct cell_grid g, struct line_range cells,
                                            struct line_range most)
{
    const double first = floor((cells.low - 0.5 - g.edge) * g.inverse);
    const double end = ceil((cells.high - 0.5 - g.edge) * g.inverse);
    const double low = first > most.low ? first : most.low;
    const double high = end < most.high ? end : most.high;
    if (low >= high)
        return (struct line_range){0, 0};
    return (struct line_range){(int32_t)align_down((int64_t)low), (int32_t)high};
}

VEC_INLINE void line_add(const struct overlaps *w, const float *source, int64_t source_slice,
                         float *out, int64_t out_slice, int slices, int wide)
{
    for (int k = 0; k < slices; k++, source += source_slice, out += out_slice)
        vf_store(out, overlaps_add(vf_load(out), source, w, wide));
}

VEC_INLINE void line_resample(const struct line_pass *t, int slices, int wide)
{
    const struct line_range channels = {0, t->channels};
    const vf width = vf_set((float)t->grid.width), lanes = vf_iota();
    const int64_t source_slice = t->source_slice, out_slice = t->out_slice;
    for (int64_t l = 0; l < t->lines; l++) {
        struct cell_grid g = t->grid;
        g.edge += t->step * (double)l;
        const struct line_range pixels = t->pixels[l];
        const struct line_range at =
            wide ? line_intervals(g, pixels, channels) : line_intervals(g, channels, pixels);
        const int64_t blocks = (at.high - at.low + VEC - 1) / VEC;
        const float *source = t->source + l * t->source_line;
        float *out = t->out + l * t->out_line + at.low;
        cells_locate(g, at.low, blocks, VEC, t->fraction, t->cell);
        for (int64_t i = 0; i < blocks; i++, out += VEC) {
            const struct overlaps w = overlaps_of(t->fraction[i], width, lanes, wide, 1);
            line_add(&w, source + t->cell[i], source_slice, out, out_slice, slices, wide);
        }
    }
}

static void line_forward(const struct line_pass *t)
{
    if (t->slices == 1)
        line_resample(t, 1, 1);
    else
        line_resample(t, t->slices, 1);
}

static void line_back(const struct line_pass *t)
{
    if (t->slices == 1)
        line_resample(t, 1, 0);
    else
        line_resample(t, t->slices, 0);
}

const struct line_kernels ISA_NAME(line_kernels) = {VEC == 16, line_forward, line_back};
