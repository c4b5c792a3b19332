/* Crop, pad, flip, exchange of axes, resampling and halving: a thread takes voxels of the result
 * one after the other. */
#include "cuda/volume/volume.cuh"

/* Maps a voxel of the result to its source, by dimension of the result. */
struct places {
    int64_t start[3], stride[3]; /* stride: of the input's memory */
    int64_t length[3];           /* of the input along that dimension */
    int turn[3];
};

static __global__ void __launch_bounds__(SUM_THREADS)
    place_kernel(struct extent out, int64_t voxels, struct places p, const float *x, float *y)
{
    const struct chunk c = chunk_of(out, voxels);
    for (int i = threadIdx.x; i < c.n; i += SUM_THREADS) {
        unsigned at[3];
        voxel_of(out, c, i, at);
        int64_t from = 0;
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            const int64_t v = p.start[a] + (p.turn[a] > 0 ? (int64_t)at[a] : -(int64_t)at[a]);
            inside = inside && v >= 0 && v < p.length[a];
            from += v * p.stride[a];
        }
        y[c.first + i] = inside ? x[from] : 0;
    }
}

enum err volume_place(struct cuda_backend *be, const struct volume_step *s, const float *in,
                      float *out)
{
    const int64_t strides[3] = {s->in[1] * s->in[2], s->in[2], 1}, n = volume_step_voxels(s->out);
    struct places p;
    for (int a = 0; a < 3; a++) {
        p.start[a] = s->start[a];
        p.turn[a] = s->turn[a];
        p.stride[a] = strides[s->from[a]];
        p.length[a] = s->in[s->from[a]];
    }
    LAUNCH(be, place_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, extent_of_shape(s->out), n, p,
           in, out);
    return ERR_OK;
}

/* Places of all three dimensions one after the other, `n` in all. */
struct axes {
    int32_t *at;
    float *t;
    int64_t from[3], out[3], n;
};

static __global__ void __launch_bounds__(SUM_THREADS)
    axis_kernel(struct axes a, enum volume_kind kind)
{
    int64_t i = (int64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
    if (i >= a.n)
        return;
    const int64_t place = i;
    int d = 0;
    while (i >= a.out[d])
        i -= a.out[d++];
    volume_axis(kind, a.from[d], a.out[d], i, &a.at[place], &a.t[place]);
}

static __device__ inline float value_blend(float a, float b, float t)
{
    return a + t * (b - a);
}

static __global__ void __launch_bounds__(SUM_THREADS)
    nearest_kernel(struct extent out, int64_t voxels, struct axes a, const float *x, float *y)
{
    const struct chunk c = chunk_of(out, voxels);
    for (int i = threadIdx.x; i < c.n; i += SUM_THREADS) {
        unsigned at[3];
        voxel_of(out, c, i, at);
        const int64_t row = a.at[at[0]], col = a.at[a.out[0] + at[1]];
        const int32_t slice = a.at[a.out[0] + a.out[1] + at[2]];
        y[c.first + i] = x[(row * a.from[1] + col) * a.from[2] + slice];
    }
}

/* Blends along rows, columns, slices, as on the CPU. */
static __global__ void __launch_bounds__(SUM_THREADS)
    linear_kernel(struct extent out, int64_t voxels, struct axes a, const float *x, float *y)
{
    const struct chunk c = chunk_of(out, voxels);
    for (int i = threadIdx.x; i < c.n; i += SUM_THREADS) {
        unsigned at[3];
        voxel_of(out, c, i, at);
        const int64_t place[3] = {at[0], a.out[0] + at[1], a.out[0] + a.out[1] + at[2]};
        int64_t from[3], step[3] = {a.from[1] * a.from[2], a.from[2], 1}, first = 0;
        for (int d = 0; d < 3; d++) {
            from[d] = a.at[place[d]];
            first += from[d] * step[d];
            step[d] = from[d] + 1 < a.from[d] ? step[d] : 0;
        }
        const float tr = a.t[place[0]], tc = a.t[place[1]], ts = a.t[place[2]];
        float end[2];
        for (int e = 0; e < 2; e++) {
            const float *v = x + first + e * step[2];
            const float low = value_blend(v[0], v[step[0]], tr);
            end[e] = value_blend(low, value_blend(v[step[1]], v[step[1] + step[0]], tr), tc);
        }
        y[c.first + i] = value_blend(end[0], end[1], ts);
    }
}

enum err volume_resample(struct cuda_backend *be, const struct volume_step *s, const float *in,
                         float *out)
{
    const int64_t n = volume_step_voxels(s->out), blocks = ceil_div(n, SUM_CHUNK);
    struct axes a;
    a.n = 0;
    for (int d = 0; d < 3; d++) {
        a.from[d] = s->in[d];
        a.out[d] = s->out[d];
        a.n += s->out[d];
    }
    TRY(workspace_hold(be, "places of the resampling", (size_t)a.n * 8, &be->scratch));
    a.at = static_cast<int32_t *>(be->scratch.ptr);
    a.t = reinterpret_cast<float *>(a.at + a.n);
    LAUNCH(be, axis_kernel, ceil_div(a.n, SUM_THREADS), SUM_THREADS, 0, a, s->kind);
    if (s->kind == VOLUME_NEAREST)
        LAUNCH(be, nearest_kernel, blocks, SUM_THREADS, 0, extent_of_shape(s->out), n, a, in, out);
    else
        LAUNCH(be, linear_kernel, blocks, SUM_THREADS, 0, extent_of_shape(s->out), n, a, in, out);
    return ERR_OK;
}

static __global__ void __launch_bounds__(SUM_THREADS)
    halve_kernel(struct extent in, struct extent out, int64_t voxels, const float *x, float *y)
{
    const struct chunk c = chunk_of(out, voxels);
    for (int i = threadIdx.x; i < c.n; i += SUM_THREADS) {
        unsigned at[3];
        voxel_of(out, c, i, at);
        const int rows = 2 * at[0] + 1 < in.rows ? 2 : 1, cols = 2 * at[1] + 1 < in.cols ? 2 : 1;
        const int slices = 2 * at[2] + 1 < in.slices ? 2 : 1;
        const float *v = x + (2 * (int64_t)at[0] * in.cols + 2 * at[1]) * in.slices + 2 * at[2];
        float sum = 0;
        for (int r = 0; r < rows; r++)
            for (int b = 0; b < cols; b++)
                for (int k = 0; k < slices; k++)
                    sum += v[((int64_t)r * in.cols + b) * in.slices + k];
        y[c.first + i] = sum / (float)(rows * cols * slices);
    }
}

enum err volume_halve(struct cuda_backend *be, const struct volume_step *s, const float *in,
                      float *out)
{
    const int64_t n = volume_step_voxels(s->out);
    LAUNCH(be, halve_kernel, ceil_div(n, SUM_CHUNK), SUM_THREADS, 0, extent_of_shape(s->in),
           extent_of_shape(s->out), n, in, out);
    return ERR_OK;
}
