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

/* The weighted sum of two windows of 32 floats at any address or, `wide`, of 64 at an address that
 * is a multiple of a vector (elsewhere than with AVX-512 of 32 as well). */
struct blended {
#if defined(__AVX512F__)
    vf window[4];
#else
    struct window a, b;
    vf left, right;
#endif
};

VEC_INLINE struct blended blended_open(const float *a, vf left, const float *b, vf right, int wide)
{
#if defined(__AVX512F__)
    struct blended w;
    for (int i = 0; i < (wide ? 4 : 2); i++)
        w.window[i] = left * vf_load(a + i * VEC) + right * vf_load(b + i * VEC);
    return w;
#else
    (void)wide;
    return (struct blended){window_open(a), window_open(b), left, right};
#endif
}

VEC_INLINE vf blended_get(const struct blended *w, vf index, int plus, int wide)
{
#if defined(__AVX512F__)
    if (!wide)
        return window_get((struct window){w->window[0], w->window[1]}, index, plus);
    __m512i at = (__m512i)((vi)index + plus);
    __mmask16 high = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    __m512 low = _mm512_permutex2var_ps((__m512)w->window[0], at, (__m512)w->window[1]);
    __m512 up = _mm512_permutex2var_ps((__m512)w->window[2], at, (__m512)w->window[3]);
    return (vf)_mm512_mask_blend_ps(high, low, up);
#else
    (void)wide;
    return w->left * window_get(w->a, index, plus) + w->right * window_get(w->b, index, plus);
#endif
}

/* Integer part of at in [0, 64), as window_get takes it, and the rest. */
VEC_INLINE vf index_split(vf at, vf *part)
{
#if defined(__AVX512F__)
    *part = (vf)_mm512_reduce_ps((__m512)at, 0x09); /* at - floor(at) */
    return (vf)_mm512_cvttps_epi32((__m512)at);
#else
    vf index = (at - 0.5f) + VF_INDEX_BIAS; /* of two neighbours at a tie: the rest is 0 or 1 */
    *part = at - (index - VF_INDEX_BIAS);
    return index;
#endif
}

#endif
