/* Vectors of VEC floats for *_kernel.c, as GCC/Clang vector types: arithmetic operators work on
 * them, -ffp-contract =fast fuses multiply-adds. VEC is 16 with AVX-512, 8 with AVX2, else 4 (SSE2,
 * NEON). */
#ifndef TP_CPU_COMMON_VEC_H
#define TP_CPU_COMMON_VEC_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VEC 16
#elif defined(__AVX2__)
#define VEC 8
#else
#define VEC 4
#endif

typedef float vf __attribute__((vector_size(VEC * 4), may_alias));
typedef int32_t vi __attribute__((vector_size(VEC * 4), may_alias));
typedef float vf_unaligned __attribute__((vector_size(VEC * 4), aligned(4), may_alias));

#define VEC_INLINE static inline __attribute__((always_inline))

/* Picks, from the elements of a followed by those of b, the ones with these numbers, which are of
 * type `index` where GCC is older than 12. */
#if defined(__clang__) || __GNUC__ >= 12
#define vec_shuffle(index, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define vec_shuffle(index, a, b, ...) __builtin_shuffle(a, b, (index){__VA_ARGS__})
#endif

VEC_INLINE vf vf_load(const float *p)
{
    return *(const vf_unaligned *)p;
}

VEC_INLINE void vf_store(float *p, vf v)
{
    *(vf_unaligned *)p = v;
}

/* Past the caches where the machine can; p aligned to a vector. An sfence must follow before others
 * read. */
VEC_INLINE void vf_stream(float *p, vf v)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX2__)
    _mm256_stream_ps(p, (__m256)v);
#elif defined(__SSE2__)
    _mm_stream_ps(p, (__m128)v);
#else
    vf_store(p, v);
#endif
}

VEC_INLINE void vf_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

VEC_INLINE vf vf_set(float x)
{
    return x - (vf){0};
}

VEC_INLINE vf vf_min(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    vi m = a < b;
    return (vf)(((vi)a & m) | ((vi)b & ~m));
#endif
}

VEC_INLINE vf vf_max(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    vi m = a > b;
    return (vf)(((vi)a & m) | ((vi)b & ~m));
#endif
}

/* 0, 1, 2, ... */
VEC_INLINE vf vf_iota(void)
{
    vf v;
    for (int i = 0; i < VEC; i++)
        v[i] = (float)i;
    return v;
}

VEC_INLINE vf vf_sqrt(vf a)
{
#if defined(__AVX512F__)
    return (vf)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX2__)
    return (vf)_mm256_sqrt_ps((__m256)a);
#else
    for (int i = 0; i < VEC; i++)
        a[i] = __builtin_sqrtf(a[i]);
    return a;
#endif
}

/* Look-ups at p[0..31], the 32 floats after `p`: two registers and a permutation where the machine
 * has it. Adding VF_INDEX_BIAS to a float in [0, 32) rounds it to the nearest integer and leaves
 * that integer in the low bits, which is what window_get takes. */
#define VF_INDEX_BIAS 12582912.0f /* 1.5 * 2^23 */

struct vf_window {
#if defined(__AVX512F__)
    vf low, high;
#else
    const float *p;
#endif
};

VEC_INLINE struct vf_window window_open(const float *p)
{
#if defined(__AVX512F__)
    return (struct vf_window){vf_load(p), vf_load(p + VEC)};
#else
    return (struct vf_window){p};
#endif
}

VEC_INLINE vf window_get(struct vf_window w, vf biased, int plus)
{
    vi index = (vi)biased + plus;
#if defined(__AVX512F__)
    return (vf)_mm512_permutex2var_ps((__m512)w.low, (__m512i)index, (__m512)w.high);
#elif defined(__AVX2__)
    index &= 31;
    return (vf)_mm256_i32gather_ps(w.p, (__m256i)index, 4);
#else
    vf out;
    for (int i = 0; i < VEC; i++)
        out[i] = w.p[index[i] & 31];
    return out;
#endif
}

#endif
