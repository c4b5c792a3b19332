/* Some slices of a volume array, to and from an array of them alone: a thread per number. */
#include "cuda/common/elementwise.cuh"
#include "cuda/common/projection.cuh"
#include "cuda/common/reduce.cuh"

static __global__ void __launch_bounds__(SUM_THREADS)
    move_slices_kernel(float *x, float *packed, const int32_t *pixels, int64_t n, int64_t count,
                       int64_t slices, int64_t first_slice, int how)
{
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS) {
        const int64_t q = i / count, p = pixels ? (int64_t)pixels[q] : q;
        float *const at = x + p * slices + first_slice + (i - q * count);
        if (how == SLICES_TAKE)
            packed[i] = *at;
        else
            *at = how == SLICES_ADD ? *at + packed[i] : packed[i];
    }
}

enum err cuda_move_slices(struct backend *base, const struct volume *v,
                          const struct pixel_set *pixels, enum slices_move how, int64_t first,
                          int64_t count, struct buffer *x, struct buffer *packed)
{
    struct cuda_backend *be = device_of(base);
    const int64_t n = pixels->count * count;
    const double bytes = (how == SLICES_ADD ? 12 : 8) * (double)n;
    struct pixel_list list;
    if (!n)
        return ERR_OK;
    TRY(list_put(be, pixels, &list));
    LAUNCH(be, move_slices_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, floats_of(x),
           floats_of(packed), list.indices, n, count, v->slices, first, (int)how);
    backend_declare(base, how == SLICES_ADD ? (double)n : 0, bytes, bytes);
    return ERR_OK;
}
