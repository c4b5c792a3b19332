/* Sums over whole buffers: blocks own fixed chunks, partial results are combined in one fixed
 * order, so that a result has the same bits on every run. */
#ifndef TP_CUDA_COMMON_REDUCE_CUH
#define TP_CUDA_COMMON_REDUCE_CUH

#include "cuda/common/device.cuh"

#define SUM_THREADS 256
#define SUM_CHUNK   8192 /* elements of a block: 32 per thread, 32 KiB of float32 */

/* The first `sums` of K numbers are added, the others take the least. */
template <int K> struct reduction {
    double value[K];
};

template <int K>
__device__ inline void reduction_join(struct reduction<K> *a, const struct reduction<K> &b,
                                      int sums)
{
    for (int i = 0; i < K; i++)
        a->value[i] = i < sums ? a->value[i] + b.value[i] : fmin(a->value[i], b.value[i]);
}

/* The reduction of a warp, in lane 0. */
template <int K> __device__ inline void warp_reduce(struct reduction<K> *t, int sums)
{
    for (int step = WARP / 2; step > 0; step /= 2) {
        struct reduction<K> other;
        for (int i = 0; i < K; i++)
            other.value[i] = __shfl_down_sync(ALL_LANES, t->value[i], step);
        reduction_join(t, other, sums);
    }
}

/* The reduction of a block of SUM_THREADS, in thread 0; shared: one reduction per warp. */
template <int K>
__device__ inline void block_reduce(struct reduction<K> *t, int sums, struct reduction<K> *shared)
{
    warp_reduce(t, sums);
    if (threadIdx.x % WARP == 0)
        shared[threadIdx.x / WARP] = *t;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < SUM_THREADS / WARP; w++)
            reduction_join(t, shared[w], sums);
}
/* The total of partial [n][K] by a block of SUM_THREADS, in thread 0. */
template <int K>
__device__ inline struct reduction<K> block_total(const double *partial, int64_t n, int sums,
                                                  struct reduction<K> *shared) {
    struct reduction<K> t;
    for (int i = 0; i < K; i++)
        t.value[i] = i < sums ? 0 : HUGE_VAL;
    for (int64_t at = threadIdx.x; at < n; at += SUM_THREADS) {
        struct reduction<K> one;
        for (int i = 0; i < K; i++)
            one.value[i] = partial[at * K + i];
        reduction_join(&t, one, sums);
    }
    block_reduce(&t, sums, shared);
    return t;
}
#define REDUCE_BYTES(K) ((SUM_THREADS / WARP) * sizeof(struct reduction<K>))

/* Adds n partial results of k numbers up, in device memory. */
enum err
reduce_launch(struct cuda_backend *be, const double *partial, int64_t n, int k, int sums,
              double *out);

/* Partial results of 4 numbers from n elements (elementwise.cu). */
static inline size_t reduce_bytes(int64_t n)
{
    return (size_t)((ceil_div(n, SUM_CHUNK) + 1) * 4) * sizeof(double);
}

/* Space for `n` partial results of k numbers; then their total. */
enum err reduce_hold(struct cuda_backend *be, int64_t n, int k, double **partial);
enum err reduce_total(struct cuda_backend *be, int64_t n, int k, int sums, double *total);

/* At most MAX_SUMS numbers to the host, when all work is done. */
enum err take_numbers(struct cuda_backend *be, const double *from, int k, double *out);

#endif
