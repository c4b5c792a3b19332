/* Scaling, sums and fingerprints of whole buffers: a block of threads owns a chunk of SUM_CHUNK
 * elements. */
#include "cuda/common/elementwise.cuh"
#include "cuda/common/projection.cuh"
#include "cuda/common/reduce.cuh"

static int64_t array_floats(const struct buffer *b)
{
    return (int64_t)(b->bytes / sizeof(float));
}

static __global__ void __launch_bounds__(SUM_THREADS)
    scale_kernel(float *x, int64_t n, float factor)
{
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS)
        x[i] *= factor;
}

enum err cuda_scale(struct backend *base, double alpha, struct buffer *x)
{
    struct cuda_backend *be = device_of(base);
    const int64_t n = array_floats(x);
    LAUNCH(be, scale_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, floats_of(x), n, (float)alpha);
    backend_declare(base, (double)n, 2.0 * (double)x->bytes, 2.0 * (double)x->bytes);
    return ERR_OK;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    scale_slices_kernel(float *x, int64_t n, const float *factor, int slices)
{
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS)
        x[i] *= factor[i % slices];
}

enum err cuda_scale_slices(struct backend *base, const struct volume *v, const float *factor,
                           struct buffer *x)
{
    struct cuda_backend *be = device_of(base);
    const size_t bytes = (size_t)v->slices * sizeof(float);
    const int64_t n = volume_voxels(v);
    TRY(workspace_hold(be, "slice factors", bytes, &be->scratch));
    float *table = static_cast<float *>(be->scratch.ptr);
    TRY(device_put(be, table, factor, bytes));
    LAUNCH(be, scale_slices_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, floats_of(x), n,
           (const float *)table, (int)v->slices);
    backend_declare(base, (double)n, 2.0 * (double)x->bytes, 2.0 * (double)x->bytes);
    return ERR_OK;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    sum_abs_kernel(const float *x, int64_t n, double *partial)
{
    SHARED_ARRAY(struct reduction<1>, shared);
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    struct reduction<1> t = {
    };
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS)
        t.value[0] += (double)fabsf(x[i]);
    block_reduce(&t, 1, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = t.value[0];
}

enum err cuda_sum_abs(struct backend *base, const struct buffer *x, double *out)
{
    struct cuda_backend *be = device_of(base);
    const int64_t n = array_floats(x), blocks = ceil_div(n, SUM_CHUNK);
    double *partial;
    TRY(reduce_hold(be, blocks, 1, &partial));
    LAUNCH(be, sum_abs_kernel, blocks, SUM_THREADS, REDUCE_BYTES(1), floats_of(x), n, partial);
    TRY(reduce_total(be, blocks, 1, 1, out));
    backend_declare(base, (double)n, (double)x->bytes, (double)x->bytes);
    return ERR_OK;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    weigh_kernel(const float *y, const float *factor, int64_t plane, int channels, float *out,
                 int64_t n)
{
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS)
        out[i] = y[i] * factor[i / plane * channels + i % channels];
}

enum err cuda_weigh_rays(struct backend *base, const struct scan *s, const float *factor,
                         const struct buffer *y, struct buffer *out)
{
    struct cuda_backend *be = device_of(base);
    const size_t bytes = (size_t)(s->views * s->channels) * sizeof(float);
    const int64_t n = scan_samples(s);
    TRY(workspace_hold(be, "weights of rays", bytes, &be->scratch));
    float *table = static_cast<float *>(be->scratch.ptr);
    TRY(device_put(be, table, factor, bytes));
    LAUNCH(be, weigh_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, floats_of(y),
           (const float *)table, s->rows * s->channels, (int)s->channels, floats_of(out), n);
    backend_declare(base, (double)n, 2.0 * (double)y->bytes, 3.0 * (double)y->bytes);
    return ERR_OK;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    weights_kernel(const struct weights_rule rule, const float *y, const float *metal, float *w,
                   int64_t n)
{
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    const float threshold = (float)rule.threshold, scale = (float)(-1 / rule.beta);
    const float dense = (float)(1 + rule.gamma);
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS) {
        const float a = y[i];
        if (rule.kind == WEIGHTS_MAR)
            w[i] = expf(scale * a * (metal[i] > threshold ? dense : 1));
        else
            w[i] = rule.kind == WEIGHTS_TRANSMISSION ? expf(-a)
                   : rule.kind == WEIGHTS_ROOT       ? expf(-0.5f * a)
                   : rule.kind == WEIGHTS_EMISSION   ? 1 / (fabsf(a) + 0.1f)
                                                     : 1;
    }
}

enum err cuda_make_weights(struct backend *base, const struct weights_rule *rule,
                           const struct buffer *y, const struct buffer *metal, struct buffer *w)
{
    struct cuda_backend *be = device_of(base);
    const int64_t n = array_floats(y);
    LAUNCH(be, weights_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, *rule, floats_of(y),
           floats_of(metal ? metal : y), floats_of(w), n);
    const double bytes = (double)y->bytes * (metal ? 3 : 2);
    backend_declare(base, weights_flops(rule->kind) * (double)n, bytes, bytes);
    return ERR_OK;
}

/* sum, sum of squares, minimum, -maximum; a NaN is not an extreme. */
static __global__ void __launch_bounds__(SUM_THREADS)
    fingerprint_kernel(const float *x, int64_t n, double *partial)
{
    SHARED_ARRAY(struct reduction<4>, shared);
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    struct reduction<4> t = {
        {
            0, 0, HUGE_VAL, HUGE_VAL
        }
    };
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS) {
        const double value = (double)x[i];
        const struct reduction<4> one = {
            {
                value, value *value, value, -value
            }
        };
        reduction_join(&t, one, 2);
    }
    block_reduce(&t, 2, shared);
    for (int i = 0; i < 4; i++)
        if (threadIdx.x == 0)
            partial[(int64_t)blockIdx.x * 4 + i] = t.value[i];
}

enum err cuda_fingerprint(struct backend *base, const struct buffer *b, double *sum, double *l2,
                          double *min, double *max)
{
    struct cuda_backend *be = device_of(base);
    const int64_t n = array_floats(b), blocks = ceil_div(n, SUM_CHUNK);
    double *partial, total[4];
    TRY(reduce_hold(be, blocks, 4, &partial));
    LAUNCH(be, fingerprint_kernel, blocks, SUM_THREADS, REDUCE_BYTES(4), floats_of(b), n, partial);
    TRY(reduce_total(be, blocks, 4, 2, total));
    *sum = total[0];
    *l2 = sqrt(total[1]);
    *min = n ? total[2] : 0;
    *max = n ? -total[3] : 0;
    backend_declare(base, 5.0 * (double)n, (double)b->bytes, 2.0 * (double)b->bytes);
    return ERR_OK;
}

/* Moves some slices of a volume array to or from an array of them alone: a thread per number. */
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
