/* Combines the partial sums of blocks, in one fixed order, and fetches totals to the host. */
#include <string.h>

#include "cuda/common/reduce.cuh"

/* partial [n][K] -> out [K] */
template <int K>
static __global__ void __launch_bounds__(SUM_THREADS)
    total_kernel(const double *partial, int64_t n, int sums, double *out)
{
    SHARED_ARRAY(struct reduction<K>, shared);
    const struct reduction<K> t = block_total<K>(partial, n, sums, shared);
    if (threadIdx.x == 0)
        for (int i = 0; i < K; i++)
            out[i] = t.value[i];
}

enum err reduce_hold(struct cuda_backend *be, int64_t n, int k, double **partial)
{
    TRY(workspace_hold(be, "partial sums", (size_t)((n + 1) * k) * sizeof(double), &be->partial));
    *partial = static_cast<double *>(be->partial.ptr);
    return ERR_OK;
}

enum err reduce_launch(struct cuda_backend *be, const double *partial, int64_t n, int k, int sums,
                       double *out)
{
    FAIL_IF(k != 1 && k != 2 && k != 4, ERR_INTERNAL, "a total of %d numbers", k);
    if (k == 1)
        LAUNCH(be, total_kernel<1>, 1, SUM_THREADS, REDUCE_BYTES(1), partial, n, sums, out);
    else if (k == 2)
        LAUNCH(be, total_kernel<2>, 1, SUM_THREADS, REDUCE_BYTES(2), partial, n, sums, out);
    else
        LAUNCH(be, total_kernel<4>, 1, SUM_THREADS, REDUCE_BYTES(4), partial, n, sums, out);
    return ERR_OK;
}

enum err take_numbers(struct cuda_backend *be, const double *from, int k, double *out)
{
    const size_t bytes = (size_t)k * sizeof(double);
    TRY_CUDA(cudaMemcpyAsync(be->result, from, bytes, cudaMemcpyDeviceToHost, be->stream),
             "sending sums");
    TRY(cuda_sync(&be->base));
    memcpy(out, be->result, bytes);
    return ERR_OK;
}

enum err reduce_total(struct cuda_backend *be, int64_t n, int k, int sums, double *total)
{
    double *const partial = static_cast<double *>(be->partial.ptr), *const out = partial + n * k;
    TRY(reduce_launch(be, partial, n, k, sums, out));
    return take_numbers(be, out, k, total);
}
