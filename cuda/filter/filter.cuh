/* The ramp filter: what its two ways share. Rows that fit into shared memory are filtered by one
 * kernel (ramp.cu), longer ones by cuFFT (filter.cu). */
#ifndef TP_CUDA_FILTER_FILTER_CUH
#define TP_CUDA_FILTER_FILTER_CUH

#include <stdlib.h>
#include <string.h>

#include "cuda/common/device.cuh"

/* Implements the entry of the back end's table (host/backend/backend.h). */
enum err cuda_ramp_filter(struct backend *be, const struct scan *s, double scale,
                          const struct buffer *y, struct buffer *out);
extern const struct device_cache fft_plans_cache, ramp_plan_cache;

/* Rows of a sinogram; two of them travel as the real and the imaginary part of one. They round
 * together: one detector row in two views, so that a slab of detector rows has the bits of the
 * whole. */
struct rows {
    const float *y;
    float *out;
    int64_t count, pairs;
    int channels, per_view; /* rows of a view */
    int weighted;
    float delta_row, delta_channel, row_centre, channel_centre; /* over D: v = m delta - centre */
    float scale;
};

static __device__ inline float weighted_sample(const struct rows &r, int64_t row, int c)
{
    if (row >= r.count || c >= r.channels)
        return 0;
    const float y = r.y[row * r.channels + c];
    if (!r.weighted)
        return y;
    /* D / sqrt(D^2 + u^2 + v^2), at flat coordinates also on a curved detector */
    const float v = (float)(row % r.per_view) * r.delta_row - r.row_centre;
    const float u = (float)c * r.delta_channel - r.channel_centre;
    return y / sqrtf(1 + u * u + v * v);
}

/* The first row of a pair; the other is a view further on. */
static __device__ inline int64_t pair_row(const struct rows &r, int64_t pair)
{
    return pair / r.per_view * 2 * r.per_view + pair % r.per_view;
}

static __device__ inline float2 sample_pair(const struct rows &r, int64_t row, int c)
{
    return make_float2(weighted_sample(r, row, c), weighted_sample(r, row + r.per_view, c));
}

static __device__ inline void store_pair(const struct rows &r, int64_t row, int c, float2 z)
{
    const int64_t second = row + r.per_view;
    if (c < r.channels && row < r.count)
        r.out[row * r.channels + c] = r.scale * z.x;
    if (c < r.channels && second < r.count)
        r.out[second * r.channels + c] = r.scale * z.y;
}

/* H(k) = (h(0) + 2 sum_m h(m) cos(2 pi k m / n)) / n over odd m < channels, in float64. */
static __device__ inline float ramp_spectrum(int64_t k, int64_t channels, int64_t n)
{
    const int64_t near = k <= n / 2 ? k : n - k;
    double sum = 0;
    for (int64_t m = 1; m < channels; m += 2)
        sum += cos(2 * M_PI * ((double)(near * m % n) / (double)n)) / ((double)m * (double)m);
    return (float)((0.25 - 2 / (M_PI * M_PI) * sum) / (double)n);
}

/* Returns the bytes kept for rows of this length; 0: they are too long. */
size_t ramp_bytes(const struct cuda_backend *be, int64_t channels);
/* $TOMOPROF_CUDA_FILTER=cufft: for comparisons. */
static inline int wants_cufft(void)
{
    const char *const wanted = getenv("TOMOPROF_CUDA_FILTER");
    return wanted && strcmp(wanted, "cufft") == 0;
}

/* *plan: tables of one length, kept for the next call. 1: *e is what came of it; 0: the rows are
 * too long. */
int ramp_rows(struct cuda_backend *be, const struct rows *r, struct ramp_plan **plan, enum err *e);

#endif
