/* Vectors of VEC floats for *_kernel.c, as GCC/Clang vector types: arithmetic operators work on them, -ffp-contract
 * =fast fuses multiply-adds. VEC is 16 with AVX-512, 8 with AVX2, else 4 (SSE2, NEON). */
#ifndef TP_CPU_VEC_H
#define TP_CPU_VEC_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define VEC 16
#elif defined(__AVX2__)
#include <immintrin.h>
#define VEC 8
#else
#define VEC 4
#endif

typedef float vf __attribute__((vector_size(VEC * 4), may_alias));
typedef int32_t vi __attribute__((vector_size(VEC * 4), may_alias));
typedef float vf_unaligned __attribute__((vector_size(VEC * 4), aligned(4), may_alias));

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE vf vf_load(const float *p)
{
    return *(const vf_unaligned *)p;
}

VEC_INLINE void vf_store(float *p, vf v)
{
    *(vf_unaligned *)p = v;
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

#endif
