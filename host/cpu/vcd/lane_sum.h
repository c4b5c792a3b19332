/* Sums over the lanes of a vector, for VCD's sums. */
#ifndef TP_CPU_VCD_LANE_SUM_H
#define TP_CPU_VCD_LANE_SUM_H

#include "host/cpu/common/vec.h"

/* Returns the sum of all lanes in float64, pairs of halves first: sixteen additions one after the other
 * take 64 cycles. */
VEC_INLINE double vf_sum(vf a)
{
    typedef float half __attribute__((vector_size(VEC * 2)));
    typedef double wide __attribute__((vector_size(VEC * 4)));
    half low, high;
    memcpy(&low, &a, sizeof low);
    memcpy(&high, (const char *)&a + sizeof low, sizeof high);
    const wide sums = __builtin_convertvector(low, wide) + __builtin_convertvector(high, wide);
#if VEC == 16
    return _mm512_reduce_add_pd((__m512d)sums);
#elif VEC == 8
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
#else
    return sums[0] + sums[1];
#endif
}

#endif
