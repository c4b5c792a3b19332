/* Vectorised coordinate descent: what happens between a back and a forward projection of one pixel
 * subset. A thread owns a slice of a group of pixels; sums have a fixed order. */
#include <float.h>

#include "cuda/common/reduce.cuh"
#include "cuda/vcd/vcd.cuh"

#define GROUP 8 /* pixels of a block: enough to hide the sums of its end */

struct subset subset_of(const struct volume *v, struct pixel_list pixels)
{
    return subset{pixels, (int)v->slices, (int)ceil_div(v->slices, SUM_THREADS)};
}

static enum err put_subset(struct cuda_backend *be, const struct volume *v,
                           const struct pixel_set *pixels, struct subset *out)
{
    struct pixel_list list;
    TRY(list_put(be, pixels, &list));
    *out = subset_of(v, list);
    return ERR_OK;
}

static double voxels_of(const struct subset *s)
{
    return (double)s->pixels.count * (double)s->slices;
}

int64_t subset_blocks(const struct subset *s)
{
    return ceil_div(s->pixels.count, GROUP) * s->chunks;
}

static __device__ inline int slice_of(const struct subset &s)
{
    return (int)(blockIdx.x % s.chunks) * SUM_THREADS + (int)threadIdx.x;
}

static __device__ inline int64_t subset_first(const struct subset &s)
{
    return (int64_t)(blockIdx.x / s.chunks) * GROUP;
}

static __device__ inline int64_t last_of(const struct subset &s)
{
    const int64_t end = subset_first(s) + GROUP;
    return slice_of(s) >= s.slices ? 0 : end < s.pixels.count ? end : s.pixels.count;
}

static __device__ inline int64_t voxel_at(const struct subset &s, int64_t q)
{
    const int64_t pixel = s.pixels.indices ? s.pixels.indices[q] : q;
    return pixel * s.slices + slice_of(s);
}

/* Per group and slice: sum(g/h), sum(1/h). */
static __global__ void __launch_bounds__(SUM_THREADS)
    means_kernel(const struct direction t, double *mean)
{
    const int k = slice_of(t.s);
    double weighted = 0, weight = 0;
    for (int64_t q = subset_first(t.s); q < last_of(t.s); q++) {
        const int64_t at = q * t.s.slices + k;
        const float inverse = 1 / (t.h[at] + t.inverse * t.hessian[voxel_at(t.s, q)]);
        weighted += (double)((t.g[at] - t.inverse * t.d[at]) * inverse);
        weight += (double)inverse;
    }
    if (k < t.s.slices) {
        const int64_t group = blockIdx.x / t.s.chunks;
        mean[(2 * group) * t.s.slices + k] = weighted;
        mean[(2 * group + 1) * t.s.slices + k] = weight;
    }
}

/* pull[k] = (1 - damping[k]) * gbar_k; a thread per slice. */
static __global__ void __launch_bounds__(SUM_THREADS)
    pull_kernel(const double *mean, int64_t groups, const float *damping, int slices, float *pull)
{
    const int k = (int)blockIdx.x * SUM_THREADS + (int)threadIdx.x;
    double weighted = 0, weight = 0;
    if (k >= slices)
        return;
    for (int64_t i = 0; i < groups; i++) {
        weighted += mean[(2 * i) * slices + k];
        weight += mean[(2 * i + 1) * slices + k];
    }
    pull[k] = groups ? (float)((1 - (double)damping[k]) * weighted / weight) : 0;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    direction_kernel(const struct direction t, double *partial)
{
    SHARED_ARRAY(struct reduction<2>, shared);
    struct reduction<2> sums = {
    };
    const int k = slice_of(t.s);
    const float pull = t.pull && k < t.s.slices ? t.pull[k] : 0;
    for (int64_t q = subset_first(t.s); q < last_of(t.s); q++) {
        const int64_t at = q * t.s.slices + k;
        const float h = t.h[at], g = t.g[at];
        const float d =
            (pull + (t.inverse * t.d[at] - g)) / (h + t.inverse * t.hessian[voxel_at(t.s, q)]);
        t.d[at] = d;
        sums.value[0] += (double)d * (double)g;
        sums.value[1] += (double)d * (double)d * (double)h;
    }
    block_reduce(&sums, 2, shared);
    if (threadIdx.x == 0) {
        partial[2 * (int64_t)blockIdx.x] = sums.value[0];
        partial[2 * (int64_t)blockIdx.x + 1] = sums.value[1];
    }
}

enum err means_hold(struct cuda_backend *be, const struct subset *s, struct means *out)
{
    const int64_t groups = ceil_div(s->pixels.count, GROUP), slices = s->slices;
    const size_t row = (size_t)slices * sizeof(float);
    TRY(workspace_hold(be, "slice means", (size_t)(2 * groups * slices) * sizeof(double) + 2 * row,
                       &be->scratch));
    out->mean = static_cast<double *>(be->scratch.ptr);
    out->pull = reinterpret_cast<float *>(out->mean + 2 * groups * slices);
    return ERR_OK;
}

enum err means_launch(struct cuda_backend *be, struct direction *t, const float *damping,
                      const struct means *m)
{
    LAUNCH(be, means_kernel, subset_blocks(&t->s), SUM_THREADS, 0, *t, m->mean);
    LAUNCH(be, pull_kernel, ceil_div(t->s.slices, SUM_THREADS), SUM_THREADS, 0,
           (const double *)m->mean, ceil_div(t->s.pixels.count, GROUP), damping, t->s.slices,
           m->pull);
    t->pull = m->pull;
    return ERR_OK;
}

enum err direction_launch(struct cuda_backend *be, const struct direction *t, double *partial,
                          double *out)
{
    const int64_t blocks = subset_blocks(&t->s);
    LAUNCH(be, direction_kernel, blocks, SUM_THREADS, REDUCE_BYTES(2), *t, partial);
    const double n = voxels_of(&t->s);
    backend_declare(&be->base, (t->pull ? 18 : 11) * n, 20 * n, (t->pull ? 40 : 32) * n);
    return out ? reduce_launch(be, partial, blocks, 2, 2, out) : ERR_OK;
}

enum err cuda_vcd_direction(struct backend *base, const struct volume *v,
                            const struct pixel_set *pixels, double sigma_y, const float *damping,
                            const struct buffer *hessian, const struct buffer *g,
                            const struct buffer *h, struct buffer *d, struct vcd_sums *sums)
{
    struct cuda_backend *be = device_of(base);
    struct direction t = {{},
                          (float)(1 / (sigma_y * sigma_y)),
                          floats_of(hessian),
                          floats_of(g),
                          floats_of(h),
                          floats_of(d),
                          NULL};
    double *partial, total[2];
    TRY(put_subset(be, v, pixels, &t.s));
    if (damping) {
        struct means m;
        TRY(means_hold(be, &t.s, &m));
        float *const table = m.pull + v->slices; /* the row behind it */
        TRY(device_put(be, table, damping, (size_t)v->slices * sizeof(float)));
        TRY(means_launch(be, &t, table, &m));
    }
    const int64_t blocks = subset_blocks(&t.s);
    TRY(reduce_hold(be, blocks, 2, &partial));
    TRY(direction_launch(be, &t, partial, partial + 2 * blocks));
    TRY(take_numbers(be, partial + 2 * blocks, 2, total));
    *sums = vcd_sums{total[0], total[1]};
    return ERR_OK;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    dots_kernel(const float *w, const float *e, const float *d, int64_t n, double *partial)
{
    SHARED_ARRAY(struct reduction<2>, shared);
    struct reduction<2> sums = {
    };
    const int64_t first = (int64_t)blockIdx.x * SUM_CHUNK;
    for (int64_t i = first + threadIdx.x; i < n && i < first + SUM_CHUNK; i += SUM_THREADS) {
        const double wd = (double)d[i] * (w ? (double)w[i] : 1);
        sums.value[0] += wd * (double)e[i];
        sums.value[1] += wd * (double)d[i];
    }
    block_reduce(&sums, 2, shared);
    if (threadIdx.x == 0) {
        partial[2 * (int64_t)blockIdx.x] = sums.value[0];
        partial[2 * (int64_t)blockIdx.x + 1] = sums.value[1];
    }
}

enum err cuda_weighted_dots(struct backend *base, const struct buffer *w, const struct buffer *e,
                            const struct buffer *d, struct vcd_sums *sums)
{
    struct cuda_backend *be = device_of(base);
    const int64_t n = (int64_t)(d->bytes / sizeof(float)), blocks = ceil_div(n, SUM_CHUNK);
    double *partial, total[2];
    TRY(reduce_hold(be, blocks, 2, &partial));
    LAUNCH(be, dots_kernel, blocks, SUM_THREADS, REDUCE_BYTES(2), (const float *)floats_of(w),
           (const float *)floats_of(e), (const float *)floats_of(d), n, partial);
    TRY(reduce_total(be, blocks, 2, 2, total));
    *sums = vcd_sums{total[0], total[1]};
    const double bytes = (double)d->bytes * (1 + (w != NULL) + (e->ptr != d->ptr));
    backend_declare(base, (w ? 5 : 4) * (double)n, bytes, bytes);
    return ERR_OK;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    clip_kernel(const struct subset s, const float *x, struct scalar scale, float *d)
{
    const float factor = scalar_value(scale);
    for (int64_t q = subset_first(s); q < last_of(s); q++) {
        const float bound = factor * x[voxel_at(s, q)];
        float *const to = d + q * s.slices + slice_of(s);
        *to = *to < bound ? bound : *to;
    }
}

static void declare_clip(struct cuda_backend *be, const struct subset *s)
{
    const double n = voxels_of(s);
    backend_declare(&be->base, 2 * n, 12 * n, 12 * n);
}

enum err cuda_clip_positive(struct backend *base, const struct volume *v,
                            const struct pixel_set *pixels, const struct buffer *x, double alpha,
                            struct buffer *d)
{
    struct cuda_backend *be = device_of(base);
    const struct scalar factor = {(float)(-1 / (alpha + (double)FLT_EPSILON)), NULL};
    struct subset s;
    TRY(put_subset(be, v, pixels, &s));
    LAUNCH(be, clip_kernel, subset_blocks(&s), SUM_THREADS, 0, s, (const float *)floats_of(x),
           factor, floats_of(d));
    declare_clip(be, &s);
    return ERR_OK;
}

/* `alone`: the blocks of one chunk of slices take all pixels, one after the other. `clip`: d is
 * what clip_kernel leaves. */
static __global__ void __launch_bounds__(SUM_THREADS)
    add_kernel(const struct subset s, int alone, struct scalar step_length, int clip,
               struct scalar factor, float *d, float *x, double *partial)
{
    SHARED_ARRAY(struct reduction<1>, shared);
    struct reduction<1> moved = {
    };
    const float alpha = scalar_value(step_length), floor = clip ? scalar_value(factor) : 0;
    const int k = slice_of(s);
    const int64_t first = alone ? 0 : subset_first(s);
    const int64_t last = !alone ? last_of(s) : k < s.slices ? s.pixels.count : 0;
    for (int64_t q = first; q < last; q++) {
        const int64_t at = q * s.slices + k, voxel = voxel_at(s, q);
        const float before = x[voxel], bound = floor * before;
        float change = d[at];
        if (clip) {
            change = change < bound ? bound : change;
            d[at] = change;
        }
        const float step = alpha * change;
        x[voxel] = before + step;
        moved.value[0] += (double)fabsf(step);
    }
    block_reduce(&moved, 1, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = moved.value[0];
}

static int64_t add_blocks(const struct subset *s, int alone)
{
    return alone ? s->chunks : subset_blocks(s);
}

enum err add_launch(struct cuda_backend *be, const struct subset *s, int alone, struct scalar alpha,
                    const struct scalar *clip, float *d, float *x, double *partial)
{
    const struct scalar none = {};
    LAUNCH(be, add_kernel, add_blocks(s, alone), SUM_THREADS, REDUCE_BYTES(1), *s, alone, alpha,
           clip != NULL, clip ? *clip : none, d, x, partial);
    const double n = voxels_of(s);
    backend_declare(&be->base, 3 * n, 12 * n, 12 * n);
    if (clip)
        declare_clip(be, s); /* as of a pass of its own, so that rates compare */
    return ERR_OK;
}

enum err cuda_add_cylinders(struct backend *base, const struct volume *v,
                            const struct pixel_set *pixels, double alpha, const struct buffer *d,
                            struct buffer *x, double *moved)
{
    struct cuda_backend *be = device_of(base);
    struct subset s;
    double *partial;
    /* A list that is not ascending may name a pixel twice, in two groups. */
    const int alone = !pixels_ascend(pixels);
    TRY(put_subset(be, v, pixels, &s));
    const int64_t blocks = add_blocks(&s, alone);
    TRY(reduce_hold(be, blocks, 1, &partial));
    TRY(add_launch(be, &s, alone, scalar{(float)alpha, NULL}, NULL, floats_of(d), floats_of(x),
                   partial));
    TRY(reduce_launch(be, partial, blocks, 1, 1, partial + blocks));
    return take_numbers(be, partial + blocks, 1, moved);
}
