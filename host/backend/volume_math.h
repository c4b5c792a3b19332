/* Arithmetic of single voxels that the kernels of all back ends share: C17 and CUDA C++17. */
#ifndef TP_BACKEND_VOLUME_MATH_H
#define TP_BACKEND_VOLUME_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "host/backend/fused_math.h"
#include "host/backend/volume.h"

#ifdef __CUDACC__
#define VOLUME_INLINE static __host__ __device__ inline
#else
#define VOLUME_INLINE static inline __attribute__((always_inline))
#endif

/* NaN stays one: comparisons with it are false. Integers are made of it, so its last bit counts. */
VOLUME_INLINE float volume_mapped(float x, const struct volume_map *m)
{
    float y = fused(x - m->less, m->factor, m->plus);
    y = y < m->low ? m->low : y;
    return y > m->high ? m->high : y;
}

VOLUME_INLINE uint32_t volume_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

VOLUME_INLINE float volume_within(float x, float most)
{
    x = x > most ? most : x;
    return x < -most ? -most : x;
}

VOLUME_INLINE uint16_t volume_bf16(float x)
{
    const uint32_t u = volume_bits(volume_within(x, 0x1.fep127f));
    const uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)(x == x ? rounded : (u >> 16 | 0x40));
}

/* Small numbers are rounded by adding 1/2, whose last bit is that of the smallest half. */
VOLUME_INLINE uint16_t volume_f16(float x)
{
    const uint32_t u = volume_bits(volume_within(x, 65504.0f)), sign = u >> 16 & 0x8000;
    const uint32_t size = u & 0x7fffffff;
    float magnitude;
    memcpy(&magnitude, &size, sizeof magnitude);
    const uint32_t small = volume_bits(magnitude + 0.5f) - 0x3f000000;
    const uint32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const uint32_t number = size < 0x38800000 ? small : normal;
    return (uint16_t)(sign | (x == x ? number : 0x7e00));
}

/* Adding 1.5 * 2^23 rounds to the nearest integer, to even between two. */
VOLUME_INLINE int32_t volume_whole(float x, float low, float high)
{
    x = x == x ? x : 0;
    x = x < low ? low : x;
    x = x > high ? high : x;
    return (int32_t)(volume_bits(x + 12582912.0f) - volume_bits(12582912.0f));
}

/* Finds where place i of n lies along a dimension of `from` voxels, at (i + 1/2) from / n - 1/2:
 * the voxel at or before it, and how far behind that it lies. Integers alone decide, for compilers
 * contract multiplications and additions in float64 as they like, and either way some places that
 * lie on a voxel, or halfway between two, would come out before it. Sizes fit int32_t, so that
 * products fit int64_t. */
VOLUME_INLINE void volume_axis(enum volume_kind kind, int64_t from, int64_t n, int64_t i,
                               int32_t *at, float *t)
{
    const int64_t cells = 2 * n; /* of 1 / (2 n) of a voxel */
    const int64_t middle = (2 * i + 1) * from, x = middle - n;
    const int64_t low = (kind == VOLUME_NEAREST ? middle : x > 0 ? x : 0) / cells;
    const int within = kind != VOLUME_NEAREST && x > 0 && low < from - 1;
    *at = (int32_t)(low < from - 1 ? low : from - 1);
    *t = within ? (float)((double)(x - low * cells) / (double)cells) : 0;
}

#endif
