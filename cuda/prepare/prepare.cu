/* Steps on views: sizes are checked and work is declared here; a thread computes a sample of those
 * of one pass. */
#include "cuda/prepare/prepare.cuh"

template <int KIND>
static __global__ void __launch_bounds__(PREPARE_THREADS)
    views_kernel(const __grid_constant__ struct prepare_job j, int64_t samples, float *out)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= samples)
        return;
    const int64_t row = i / j.out_channels, v = row / j.rows;
    out[i] = prepare_sample(static_cast<enum prepare_kind>(KIND), &j, v, row - v * j.rows,
                            i - row * j.out_channels);
}

/* Part of a view whose air is one mean: `spans` rows. */
struct air_box {
    const float *in;
    int64_t rows, channels, spans, left, right;
};

/* A block a mean: the sums and the counts of finite samples left and right. */
static __global__ void __launch_bounds__(SUM_THREADS)
    air_kernel(const __grid_constant__ struct air_box b, float *line)
{
    SHARED_ARRAY(struct reduction<4>, shared);
    const float *rows = b.in + (int64_t)blockIdx.x * b.spans * b.channels;
    double sum[2] = {0, 0}, count[2] = {0, 0};
    const int64_t width = b.left + b.right;
    for (int64_t i = threadIdx.x; i < b.spans * width; i += SUM_THREADS) {
        const int64_t row = i / width, k = i - row * width;
        const int right = k >= b.left;
        const float x = rows[row * b.channels + (right ? b.channels - width + k : k)];
        const double value = isfinite(x) ? (double)x : 0, one = isfinite(x) ? 1 : 0;
        sum[0] += right ? 0 : value;
        count[0] += right ? 0 : one;
        sum[1] += right ? value : 0;
        count[1] += right ? one : 0;
    }
    struct reduction<4> t = {
        {
            sum[0], count[0], sum[1], count[1]
        }
    };
    block_reduce(&t, 4, shared);
    if (threadIdx.x == 0) {
        const float left = (float)(t.value[0] / t.value[1]);
        const float right = (float)(t.value[2] / t.value[3]);
        line[2 * (int64_t)blockIdx.x] = b.left ? left : right;
        line[2 * (int64_t)blockIdx.x + 1] = b.right ? right : left;
    }
}

static enum err air_means(struct cuda_backend *be, const struct prepare_step *s, const float *in,
                          float **line)
{
    const int64_t lines = s->in[0] * (s->whole_view ? 1 : s->in[1]);
    TRY(workspace_hold(be, "means of air", (size_t)lines * 2 * sizeof(float), &be->scratch));
    *line = static_cast<float *>(be->scratch.ptr);
    const struct air_box b = {in,      s->in[1], s->in[2], s->whole_view ? s->in[1] : 1,
                              s->left, s->right};
    LAUNCH(be, air_kernel, lines, SUM_THREADS, REDUCE_BYTES(4), b, *line);
    return ERR_OK;
}

#define ONE_PASS(kind)                                                                             \
    case kind:                                                                                     \
        LAUNCH(be, views_kernel<kind>, blocks, PREPARE_THREADS, 0, j, samples, out);               \
        return ERR_OK

static enum err prepare_launch(struct cuda_backend *be, const struct prepare_step *s,
                               const float *in, const float *frames, float *out)
{
    float *line = NULL;
    if (s->kind == PREPARE_AIR)
        TRY(air_means(be, s, in, &line));
    const struct prepare_job j = prepare_job_of(s, in, frames, line);
    const int64_t samples = prepare_samples(s->out), blocks = ceil_div(samples, PREPARE_THREADS);
    switch (s->kind) {
        ONE_PASS(PREPARE_OUTLIERS);
        ONE_PASS(PREPARE_FLAT);
        ONE_PASS(PREPARE_AIR);
        ONE_PASS(PREPARE_LOG);
        ONE_PASS(PREPARE_POLYNOMIAL);
        ONE_PASS(PREPARE_TILT);
        ONE_PASS(PREPARE_JOIN);
    case PREPARE_WAVELET:
        return prepare_wavelet_rows(be, s, in, out);
    case PREPARE_PHASE:
        return prepare_phase_views(be, s, in, out);
    default:
        return prepare_symmetry_trials(be, s, in, out);
    }
}

enum err cuda_prepare_step(struct backend *base, const struct prepare_step *step,
                           const struct buffer *frames, const struct buffer *in, struct buffer *out)
{
    const size_t read = (size_t)prepare_samples(step->in) * sizeof(float);
    const size_t written = (size_t)prepare_samples(step->out) * sizeof(float);
    TRY(backend_check_buffers("a step on views", read, written, in, out));
    TRY(prepare_check_frames(step, frames));
    if (!written)
        return ERR_OK;
    mark_push("prepare_step", written);
    const enum err e =
        prepare_launch(device_of(base), step, floats_of(in), floats_of(frames), floats_of(out));
    mark_pop();
    backend_declare(base, prepare_step_flops(step), prepare_step_bytes(step),
                    prepare_step_bytes(step));
    return e;
}
