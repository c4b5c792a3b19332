/* Priors of VCD: qGGMRF over the six face neighbours, or proximal. Every voxel is read as it was
 * before the subset's update. A thread owns a voxel; host/backend/qggmrf.h has the formula.
 */
#include "cuda/vcd/vcd.cuh"

extern "C" {
#include "host/backend/qggmrf.h"
}

#define THREADS 128

struct prior_args {
    struct pixel_list pixels;
    const float *x;
    float *g, *h;
    int rows, cols, slices, chunks;
};

/* t = 2^whole (1 + u), 1 + u in [sqrt(1/2), sqrt(2)): log2(1 + u) within 4.8e-8. */
static __device__ inline void log2_parts(float t, float *whole, float *rest)
{
    const int bits = __float_as_int(t), exponent = (bits - 0x3f3504f3) >> 23;
    const float u = __int_as_float(bits - exponent * (1 << 23)) - 1;
    float p = u * -0.14575764537f + 0.23688253760f;
    p = p * u - 0.25006118417f;
    p = p * u + 0.28670853376f;
    p = p * u - 0.36008810997f;
    p = p * u + 0.48093938828f;
    p = p * u - 0.72135710716f;
    p = p * u + 1.44269478321f;
    *whole = (float)exponent;
    *rest = p * u;
}

/* 2^(c (whole + rest)) for results within 2^-126 .. 2^126, off by 7.5e-8. */
static __device__ inline float exp2_times(struct split_exponent c, float whole, float rest)
{
    const float high = c.high * whole, low = c.low * whole + (c.high + c.low) * rest;
    const float n = rintf(high + low), r = (high - n) + low;
    float p = r * 0.00132764725f + 0.00967554096f;
    p = p * r + 0.05550713092f;
    p = p * r + 0.24022120237f;
    p = p * r + 0.69314694405f;
    p = p * r + 1.00000012f;
    return __int_as_float(__float_as_int(p) + (int)n * (1 << 23));
}

/* w(D) of one neighbour. */
static __device__ inline float qggmrf_surrogate(const struct qggmrf &q, float difference)
{
    float whole, rest;
    const float t = fmaxf(fabsf(difference) * q.inverse, 0x1p-23f);
    log2_parts(fminf(t, q.most), &whole, &rest);
    const float e = exp2_times(q.tail, whole, rest), inverse = 1 / (1 + e);
    const float w = (q.scale * (e * inverse)) * ((q.ratio + e) * inverse);
    return q.quadratic ? w : w * exp2_times(q.middle, whole, rest);
}

static __device__ inline void add_neighbour(const struct qggmrf &q, int axis, float difference,
                                            float *g, float *h)
{
    const float w = q.b[axis] * qggmrf_surrogate(q, difference);
    *g += w * difference;
    *h += w;
}

/* Entry of the list and slice of a thread; 0 beyond the ends. */
static __device__ inline int prior_place(const struct prior_args &s, int64_t *n, int *pixel, int *k)
{
    *n = blockIdx.x / s.chunks;
    *k = blockIdx.x % s.chunks * THREADS + threadIdx.x;
    *pixel = s.pixels.indices ? s.pixels.indices[*n] : (int)*n;
    return *k < s.slices;
}

static __global__ void __launch_bounds__(THREADS)
    qggmrf_kernel(const struct prior_args s, const struct qggmrf q)
{
    int64_t n;
    int pixel, k;
    if (!prior_place(s, &n, &pixel, &k))
        return;
    const int i = pixel / s.cols, j = pixel - i * s.cols;
    const int64_t row = (int64_t)s.cols * s.slices;
    const float *const own = s.x + (int64_t)pixel * s.slices + k;
    const float x = *own;
    float g = 0, h = 0;
    add_neighbour(q, 2, x - own[k + 1 < s.slices ? 1 : 0], &g, &h);
    add_neighbour(q, 2, x - own[k > 0 ? -1 : 0], &g, &h);
    add_neighbour(q, 0, x - own[i + 1 < s.rows ? row : 0], &g, &h);
    add_neighbour(q, 0, x - own[i > 0 ? -row : 0], &g, &h);
    add_neighbour(q, 1, x - own[j + 1 < s.cols ? s.slices : 0], &g, &h);
    add_neighbour(q, 1, x - own[j > 0 ? -s.slices : 0], &g, &h);
    s.g[n * s.slices + k] = g;
    s.h[n * s.slices + k] = h;
}

static __global__ void __launch_bounds__(THREADS)
    proximal_kernel(const struct prior_args s, const float *target, float weight)
{
    int64_t n;
    int pixel, k;
    if (!prior_place(s, &n, &pixel, &k))
        return;
    const int64_t from = (int64_t)pixel * s.slices + k, to = n * s.slices + k;
    s.g[to] = weight * (s.x[from] - target[from]);
    s.h[to] = weight;
}

static enum err proximal_launch(struct cuda_backend *be, const struct prior_args *s, double sigma,
                                const float *target)
{
    FAIL_IF(!(sigma > 0), ERR_INPUT, "sigma_prox %g must be greater than 0", sigma);
    LAUNCH(be, proximal_kernel, s->pixels.count * s->chunks, THREADS, 0, *s, target,
           (float)(1 / (sigma * sigma)));
    const double voxels = (double)s->pixels.count * (double)s->slices;
    backend_declare(&be->base, 2 * voxels, 16 * voxels, 16 * voxels);
    return ERR_OK;
}

enum err prior_launch(struct cuda_backend *be, const struct volume *v,
                      const struct regularisation *r, const float *target,
                      const struct pixel_list *pixels, const float *x, float *g, float *h)
{
    const struct prior_args s = {*pixels,
                                 x,
                                 g,
                                 h,
                                 (int)v->rows,
                                 (int)v->cols,
                                 (int)v->slices,
                                 (int)ceil_div(v->slices, THREADS)};
    if (target)
        return proximal_launch(be, &s, r->sigma_prox, target);
    const double voxels = (double)pixels->count * (double)v->slices;
    struct qggmrf q;
    TRY(qggmrf_init(r, &q));
    LAUNCH(be, qggmrf_kernel, pixels->count * s.chunks, THREADS, 0, s, q);
    backend_declare(&be->base, qggmrf_flops(&q) * voxels, 12 * voxels, 28 * voxels);
    return ERR_OK;
}

enum err cuda_prior_terms(struct backend *base, const struct volume *v, const struct prior *prior,
                          const struct pixel_set *pixels, const struct buffer *x, struct buffer *g,
                          struct buffer *h)
{
    struct pixel_list list;
    TRY(list_put(device_of(base), pixels, &list));
    return prior_launch(device_of(base), v, prior->regularisation, floats_of(prior->prox_target),
                        &list, floats_of(x), floats_of(g), floats_of(h));
}
