/* Look-ups at strides of 1.9 to 3.75 floats: a vector of AVX-512 takes two windows of 32 floats,
 * one for each half (group) of its lanes, for which it needs no more permutations than registers.
 */
#ifndef TP_CPU_GROUP_H
#define TP_CPU_GROUP_H

#include "host/cpu/vec.h"

#define GROUP  (VEC < 8 ? VEC : 8) /* lanes that share a window */
#define GROUPS (VEC / GROUP)

#if defined(__AVX512F__)
struct group_window {
    vf window[4];
};
#else
struct group_window {
    struct window window[1];
};
#endif

/* Lane number within the group. */
VEC_INLINE vf group_iota(void)
{
    vf v;
    for (int i = 0; i < VEC; i++)
        v[i] = (float)(i % GROUP);
    return v;
}

/* value[0] in the lanes of the first group, value[1] in those of the second. */
VEC_INLINE vf group_spread(const float *value)
{
#if defined(__AVX512F__)
    return (vf)_mm512_mask_broadcastss_ps(_mm512_set1_ps(value[0]), 0xFF00, _mm_load_ss(value + 1));
#else
    return vf_set(value[0]);
#endif
}

/* Windows at source + start[group]. */
VEC_INLINE struct group_window group_open(const float *source, const int32_t *start)
{
#if defined(__AVX512F__)
    const float *low = source + start[0], *high = source + start[1];
    return (struct group_window){
        {vf_load(low), vf_load(low + VEC), vf_load(high), vf_load(high + VEC)}};
#else
    return (struct group_window){{window_open(source + start[0])}};
#endif
}

/* As window_get, each lane in its group's window. */
VEC_INLINE vf group_get(const struct group_window *w, vf biased, int plus)
{
#if defined(__AVX512F__)
    __m512i index = (__m512i)((vi)biased + plus);
    __m512 low =
        _mm512_mask2_permutex2var_ps((__m512)w->window[0], index, 0x00FF, (__m512)w->window[1]);
    return (vf)_mm512_mask2_permutex2var_ps((__m512)w->window[2], _mm512_castps_si512(low), 0xFF00,
                                            (__m512)w->window[3]);
#else
    return window_get(w->window[0], biased, plus);
#endif
}

#endif
