/* After forward projection a warp stores its finished samples, sums them for VCD's step, or
 * subtracts them from the error sinogram. */
#ifndef TP_CUDA_COMMON_FINISH_CUH
#define TP_CUDA_COMMON_FINISH_CUH

#include "cuda/common/projection.cuh"

/* A lane uses one of these on its finished samples. */
struct finishing {
    float alpha;             /* UPDATE */
    float linear, quadratic; /* DOTS */
};

/* Finishes one channel's samples, every 32nd from `at` on. All that is read is asked for before
 * any of it is used: bytes in flight are what memory waits for. `last`: there is one in the last
 * group. */
template <int ROWS>
static __device__ inline void finish_samples(const struct sample_sink &s, int64_t at,
                                             const float d[ROWS], bool last, struct finishing *f)
{
    float e[ROWS], w[ROWS];
    if (s.y)
        for (int i = 0; i < ROWS; i++)
            if (i < ROWS - 1 || last)
                s.y[at + i * WARP] = d[i];
    if (s.mode == SINK_STORE)
        return;
    for (int i = 0; i < ROWS; i++)
        e[i] = i < ROWS - 1 || last ? s.e[at + i * WARP] : 0;
    for (int i = 0; i < ROWS; i++)
        w[i] = s.w && (i < ROWS - 1 || last) ? s.w[at + i * WARP] : 1;
    for (int i = 0; i < ROWS; i++) {
        const bool exists = i < ROWS - 1 || last;
        if (s.mode == SINK_DOTS && exists) {
            const float wd = w[i] * d[i];
            f->linear += wd * e[i];
            f->quadratic += wd * d[i];
        } else if (exists) {
            e[i] -= f->alpha * d[i];
            s.e[at + i * WARP] = e[i];
            if (s.weighted)
                s.weighted[at + i * WARP] = w[i] * e[i];
        }
    }
}

/* The sums of a warp's samples in float32: at most 144 terms a lane. */
static __device__ inline void finish_dots(const struct sample_sink &s, int64_t warp,
                                          const struct finishing &f)
{
    double a = (double)f.linear, b = (double)f.quadratic;
    for (int step = WARP / 2; step > 0; step /= 2) {
        a += __shfl_down_sync(ALL_LANES, a, step);
        b += __shfl_down_sync(ALL_LANES, b, step);
    }
    if (threadIdx.x % WARP == 0) {
        s.partial[2 * warp] = a;
        s.partial[2 * warp + 1] = b;
    }
}

#endif
