/* Resamples between two uniform grids (cell_grid.h), a vector of intervals at a time. */
#ifndef TP_CPU_COMMON_VEC_OVERLAP_H
#define TP_CPU_COMMON_VEC_OVERLAP_H

#include "host/cpu/common/cell_grid.h"
#include "host/cpu/common/vec.h"

VEC_INLINE int64_t align_down(int64_t n)
{
    return n / VEC * VEC;
}

#define LOCATED 8 /* blocks that cells_locate finds together */
typedef double located __attribute__((vector_size(LOCATED * sizeof(double))));
typedef float located_float __attribute__((vector_size(LOCATED * sizeof(float)), aligned(4)));
typedef int32_t located_int __attribute__((vector_size(LOCATED * sizeof(int32_t)), aligned(4)));

/* For blocks of `step` intervals from `first` on: the cell in which each block starts, and where in
 * it (0 .. 1). In float64, since edge + width*first may be thousands of cells. Writes up to LOCATED
 * - 1 blocks more. */
VEC_INLINE void cells_locate(struct cell_grid g, int64_t first, int64_t blocks, int step,
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

/* Cells that VEC intervals of `width` <= NARROW cells touch, and how much of each: `biased` is the
 * first, and three are touched where `wide`, for widths above 1. */
struct overlaps {
    vf biased, first, second, third;
};

VEC_INLINE struct overlaps overlaps_of(float fraction, vf width, vf lanes, int wide, int power)
{
    const vf at = lanes * width + fraction, biased = vf_index(at);
    vf first = (biased - (VF_INDEX_BIAS - 1)) - at, second, third = {0};
    if (wide) {
        const vf rest = width - first;
        second = vf_min(rest, vf_set(1));
        third = rest - second;
    } else {
        first = vf_min(first, width);
        second = width - first;
    }
    if (power == 2)
        first *= first, second *= second, third *= third;
    return (struct overlaps){biased, first, second, third};
}

/* Returns `sum` and source cells times their overlap. */
VEC_INLINE vf overlaps_add(vf sum, const float *source, const struct overlaps *o, int wide)
{
    const struct vf_window w = window_open(source);
    sum += window_get(w, o->biased, 0) * o->first;
    sum += window_get(w, o->biased, 1) * o->second;
    if (wide)
        sum += window_get(w, o->biased, 2) * o->third;
    return sum;
}

/* Returns source cells times their overlap. */
VEC_INLINE vf overlaps_sum(const float *source, const struct overlaps *o, int wide)
{
    const struct vf_window w = window_open(source);
    vf sum = window_get(w, o->biased, 0) * o->first + window_get(w, o->biased, 1) * o->second;
    if (wide)
        sum += window_get(w, o->biased, 2) * o->third;
    return sum;
}

#endif
