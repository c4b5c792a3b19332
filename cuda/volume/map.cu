/* z-norm, rescaling and conversion of a box: one pass for the statistics, one that writes. */
#include "cuda/volume/volume.cuh"

/* A box of a volume; of its input rows are `cols` and `slices` long. */
struct map_box {
    struct extent out;
    int64_t voxels, cols, slices;
    const float *in; /* its first voxel */
};

static __device__ inline float box_voxel(const struct map_box &b, const struct chunk &c, int i)
{
    unsigned at[3];
    voxel_of(b.out, c, i, at);
    return b.in[(at[0] * b.cols + at[1]) * b.slices + at[2]];
}

/* Count, sum of x - k and of its square; k is the box's first value where that is finite. */
static __global__ void __launch_bounds__(SUM_THREADS)
    moments_kernel(struct map_box b, double *partial)
{
    SHARED_ARRAY(struct reduction<4>, shared);
    const struct chunk c = chunk_of(b.out, b.voxels);
    const double k = isfinite(b.in[0]) ? (double)b.in[0] : 0;
    struct reduction<4> t = {
    };
    for (int i = threadIdx.x; i < c.n; i += SUM_THREADS) {
        const float x = box_voxel(b, c, i);
        if (x == x) {
            const double d = (double)x - k;
            t.value[0] += 1;
            t.value[1] += d;
            t.value[2] += d * d;
        }
    }
    t.value[3] = blockIdx.x == 0 && threadIdx.x == 0 ? k : 0;
    block_reduce(&t, 4, shared);
    for (int i = 0; i < 4; i++)
        if (threadIdx.x == 0)
            partial[(int64_t)blockIdx.x * 4 + i] = t.value[i];
}

/* Minimum and -maximum; a NaN is not an extreme. */
static __global__ void __launch_bounds__(SUM_THREADS)
    extremes_kernel(struct map_box b, double *partial)
{
    SHARED_ARRAY(struct reduction<2>, shared);
    const struct chunk c = chunk_of(b.out, b.voxels);
    struct reduction<2> t = {
        {
            HUGE_VAL, HUGE_VAL
        }
    };
    for (int i = threadIdx.x; i < c.n; i += SUM_THREADS) {
        const double x = (double)box_voxel(b, c, i);
        t.value[0] = fmin(t.value[0], x);
        t.value[1] = fmin(t.value[1], -x);
    }
    block_reduce(&t, 0, shared);
    for (int i = 0; i < 2; i++)
        if (threadIdx.x == 0)
            partial[(int64_t)blockIdx.x * 2 + i] = t.value[i];
}

static __global__ void __launch_bounds__(SUM_THREADS)
    map_kernel(struct map_box b, struct volume_map m, enum volume_dtype type, void *out)
{
    const struct chunk c = chunk_of(b.out, b.voxels);
    for (int i = threadIdx.x; i < c.n; i += SUM_THREADS) {
        const float y = volume_mapped(box_voxel(b, c, i), &m);
        const int64_t at = c.first + i;
        switch (type) {
        case VOLUME_F32:
            static_cast<float *>(out)[at] = y;
            break;
        case VOLUME_F16:
            static_cast<uint16_t *>(out)[at] = volume_f16(y);
            break;
        case VOLUME_BF16:
            static_cast<uint16_t *>(out)[at] = volume_bf16(y);
            break;
        case VOLUME_I16:
            static_cast<int16_t *>(out)[at] = (int16_t)volume_whole(y, -32768, 32767);
            break;
        case VOLUME_U8:
            static_cast<uint8_t *>(out)[at] = (uint8_t)volume_whole(y, 0, 255);
            break;
        }
    }
}

static enum err find_map(struct cuda_backend *be, const struct volume_step *s,
                         const struct map_box &b, struct volume_map *map)
{
    const int64_t blocks = ceil_div(b.voxels, SUM_CHUNK);
    double *partial, total[4];
    if (s->norm == VOLUME_Z_NORM) {
        struct volume_moments all = {0, 0, 0};
        TRY(reduce_hold(be, blocks, 4, &partial));
        LAUNCH(be, moments_kernel, blocks, SUM_THREADS, REDUCE_BYTES(4), b, partial);
        TRY(reduce_total(be, blocks, 4, 4, total));
        volume_moments_add(&all, total[3], total[0], total[1], total[2]);
        *map = volume_map_z_norm(&all);
    } else if (s->norm == VOLUME_RESCALE) {
        TRY(reduce_hold(be, blocks, 2, &partial));
        LAUNCH(be, extremes_kernel, blocks, SUM_THREADS, REDUCE_BYTES(2), b, partial);
        TRY(reduce_total(be, blocks, 2, 0, total));
        *map = volume_map_rescale(s, (float)total[0], (float)-total[1]);
    }
    return ERR_OK;
}

enum err volume_map(struct cuda_backend *be, const struct volume_step *s, const float *in,
                    void *out)
{
    const int64_t first = (s->start[0] * s->in[1] + s->start[1]) * s->in[2] + s->start[2];
    struct map_box b = {extent_of_shape(s->out), volume_step_voxels(s->out), s->in[1], s->in[2],
                        in + first};
    struct volume_map map = {0, 1, 0, -INFINITY, INFINITY};
    TRY(find_map(be, s, b, &map));
    LAUNCH(be, map_kernel, ceil_div(b.voxels, SUM_CHUNK), SUM_THREADS, 0, b, map, s->dtype, out);
    return ERR_OK;
}
