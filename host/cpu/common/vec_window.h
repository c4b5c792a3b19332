/* Look-ups at strides of 1.9 to 3.75 floats: a vector of AVX-512 takes two windows of 32 floats,
 * one for each half (group) of its lanes, for which it needs no more permutations than registers.
 */
#ifndef TP_CPU_COMMON_VEC_WINDOW_H
#define TP_CPU_COMMON_VEC_WINDOW_H

#include "host/cpu/common/vec.h"

#define GROUP  (VEC < 8 ? VEC : 8) /* lanes that share a window */
#define GROUPS (VEC / GROUP)

#if defined(__AVX512F__)
struct group_window {
    vf window[4];
};
#else
struct group_window {
    struct vf_window window[1];
};
#endif

/* Returns each lane's number within the group. */
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

/* The weighted sum of two windows at any addresses: with AVX-512 `vectors` (2 or 3, constant where
 * inlined) vectors, elsewhere 32 floats. */
struct blended {
#if defined(__AVX512F__)
    vf window[3];
#else
    struct vf_window a, b;
    vf left, right;
#endif
};

VEC_INLINE struct blended blended_open(const float *a, vf left, const float *b, vf right,
                                       int vectors)
{
#if defined(__AVX512F__)
    struct blended w;
    for (int i = 0; i < vectors; i++)
        w.window[i] = left * vf_load(a + i * VEC) + right * vf_load(b + i * VEC);
    return w;
#else
    (void)vectors;
    return (struct blended){window_open(a), window_open(b), left, right};
#endif
}

VEC_INLINE vf blended_get(const struct blended *w, vi index, int vectors)
{
#if defined(__AVX512F__)
    __m512i at = (__m512i)index;
    __m512 low = _mm512_permutex2var_ps((__m512)w->window[0], at, (__m512)w->window[1]);
    if (vectors == 2)
        return (vf)low;
    __mmask16 high = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    return (vf)_mm512_mask_permutexvar_ps(low, high, at, (__m512)w->window[2]);
#else
    (void)vectors;
    vf a = window_get(w->a, (vf)index, 0), b = window_get(w->b, (vf)index, 0);
    return w->left * a + w->right * b;
#endif
}

/* Positions in [0, 64) as integers, in units of 2^-POSITION_BITS: the fraction becomes the mantissa
 * of a float in [1, 2). */
#define POSITION_BITS 23

VEC_INLINE vi position_split(vi at, vf *part)
{
    vi mantissa = (at & ((1 << POSITION_BITS) - 1)) | 0x3f800000;
    *part = (vf)mantissa - 1.0f;
    return at >> POSITION_BITS;
}

#endif
