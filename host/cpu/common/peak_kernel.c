/* The two loops that reach the peak: independent multiply-adds, and a copy past the caches. */
#include "host/cpu/common/peak.h"
#include "host/cpu/common/vec.h"

/* 12 chains cover the latency of 4 cycles times 2 units with some to spare, and fit in 16
 * registers. */
enum { CHAINS = 12 };

static float peak_multiply_add(int64_t steps, float factor, float term)
{
    vf sum[CHAINS], f = vf_set(factor), t = vf_set(term);
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++)
        sum[i] = vf_set((float)i);
    for (int64_t k = 0; k < steps; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sum[i] = sum[i] * f + t;
    }
#pragma GCC unroll 12
    for (int i = 1; i < CHAINS; i++)
        sum[0] += sum[i];
    float total = 0;
    for (int i = 0; i < VEC; i++)
        total += sum[0][i];
    return total;
}

static void peak_stream(const float *from, float *to, size_t n)
{
    for (size_t i = 0; i < n; i += VEC)
        vf_stream(to + i, vf_load(from + i));
    vf_stream_end();
}

const struct peak_kernels ISA_NAME(peak_kernels) = {peak_multiply_add, 2 * CHAINS *VEC,
                                                    peak_stream};
