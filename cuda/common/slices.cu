/* Some slices of a volume array, to and from an array of them alone: a thread per number. */
#include "cuda/common/elementwise.cuh"
#include "cuda/common/projection.cuh"
#include "cuda/common/reduce.cuh"

static __global__ void __launch_bounds__(SUM_THREADS)
    move_slices_kernel(float *x, float *packed, const int32_t *pixels, int64_t n,
                       struct slices_move move)
{
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS) {
        const int64_t q = i / move.count, p = pixels ? (int64_t)pixels[q] : q;
        float *const at = x + p * move.slices + move.first + (i - q * move.count);
        if (move.how == SLICES_TAKE)
            packed[i] = *at;
        else
            *at = move.how == SLICES_ADD ? *at + packed[i] : packed[i];
    }
}

enum err cuda_move_slices(struct backend *base, const struct slices_move *move,
                          const struct pixel_set *pixels, struct buffer *x, struct buffer *packed)
{
    struct cuda_backend *be = device_of(base);
    const int64_t n = pixels->count * move->count;
    const int adds = move->how == SLICES_ADD;
    const double bytes = (adds ? 12 : 8) * (double)n;
    struct pixel_list list;
    if (!n)
        return ERR_OK;
    TRY(list_put(be, pixels, &list));
    LAUNCH(be, move_slices_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, floats_of(x),
           floats_of(packed), list.indices, n, *move);
    backend_declare(base, adds ? (double)n : 0, bytes, bytes);
    return ERR_OK;
}
