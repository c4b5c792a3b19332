/* A multiply-add with one rounding that all compilers and machines agree on: C17 and CUDA C++17.
 * a * b + c has one rounding or two, as the compiler likes, and will not do where the last bit of a
 * sum decides (an integer, a division by 0). */
#ifndef TP_BACKEND_FUSED_MATH_H
#define TP_BACKEND_FUSED_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define FUSED_INLINE static __host__ __device__ inline
#else
#define FUSED_INLINE static inline __attribute__((always_inline))
#endif

/* Computes the same without an instruction for it, and without a branch. A product of two float32
 * is exact in float64. Their sum with c is rounded to odd there: where it is not exact and its last
 * bit is 0, it moves towards what was lost. Then rounding it again, to float32, is right. */
FUSED_INLINE float fused_in_double(float a, float b, float c)
{
    const double product = (double)a * (double)b, sum = product + (double)c;
    const double part = sum - product;
    const double lost = (product - (sum - part)) + ((double)c - part);
    const int up = (lost > 0) - (lost < 0); /* 0 where the sum is not finite */
    uint64_t u;
    memcpy(&u, &sum, sizeof u);
    if (!(u & 1))
        u += (uint64_t)(int64_t)(sum > 0 ? up : -up);
    double odd;
    memcpy(&odd, &u, sizeof odd);
    return (float)odd;
}

FUSED_INLINE float fused(float a, float b, float c)
{
#if defined(__CUDACC__) || defined(__FP_FAST_FMAF)
    return fmaf(a, b, c);
#else
    return fused_in_double(a, b, c);
#endif
}

#endif
