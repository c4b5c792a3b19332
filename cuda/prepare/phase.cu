/* Paganin's phase retrieval, as host/cpu/prepare/phase.c explains: transforms along rows, then, the
 * plane turned over, along columns; pairs of views, as many as a workspace holds. */
#include "cuda/prepare/prepare.cuh"

#define ROOM_LEAST ((size_t)256 << 20)

struct pairs {
    const float *in;
    float *out;
    int64_t views, rows, channels; /* of the input */
    int64_t height, width, margin; /* of the continued view */
    int64_t first, count;          /* pairs from `first` on */
    float2 *z, *turned;            /* [count][height][width], [count][width][height] */
    double ratio;
};

static __device__ inline int64_t phase_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    phase_continue_kernel(const __grid_constant__ struct pairs p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= p.count * p.height * p.width)
        return;
    const int64_t line = i / p.width, pair = line / p.height;
    const int64_t r = phase_clamp(line - pair * p.height - p.margin, p.rows);
    const int64_t c = phase_clamp(i - line * p.width - p.margin, p.channels),
                  v = 2 * (p.first + pair);
    const float *view = p.in + (v * p.rows + r) * p.channels + c;
    p.z[i] = make_float2(view[0], v + 1 < p.views ? view[p.rows * p.channels] : 0);
}

/* [count][rows][columns] to [count][columns][rows]. */
static __global__ void __launch_bounds__(PREPARE_THREADS)
    phase_turn_kernel(const float2 *from, float2 *to, int64_t count, int64_t rows, int64_t columns)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= count * rows * columns)
        return;
    const int64_t line = i / rows, r = i - line * rows, plane = line / columns;
    to[i] = from[(plane * rows + r) * columns + line - plane * columns];
}

static __device__ inline double phase_frequency(int64_t k, int64_t n)
{
    return (double)(2 * k <= n ? k : n - k) / (double)n;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    phase_filter_kernel(const __grid_constant__ struct pairs p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= p.count * p.height * p.width)
        return;
    const int64_t line = i / p.height;
    const double v = phase_frequency(i - line * p.height, p.height),
                 u = phase_frequency(line % p.width, p.width);
    const double scale = (double)(p.height * p.width);
    const float factor = (float)(1 / (scale * (1 + p.ratio * (u * u + v * v))));
    p.turned[i].x *= factor;
    p.turned[i].y *= factor;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    phase_store_kernel(const __grid_constant__ struct pairs p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= p.count * p.rows * p.channels)
        return;
    const int64_t line = i / p.channels, c = i - line * p.channels, pair = line / p.rows;
    const int64_t r = line - pair * p.rows, v = 2 * (p.first + pair);
    const float2 z = p.z[(pair * p.height + r + p.margin) * p.width + c + p.margin];
    float *const out = p.out + (v * p.rows + r) * p.channels + c;
    out[0] = z.x;
    if (v + 1 < p.views)
        out[p.rows * p.channels] = z.y;
}

#define DOING "retrieving the phase"

static enum err some_pairs(struct cuda_backend *be, const struct pairs *p,
                           const struct prepare_plan *rows, const struct prepare_plan *columns)
{
    const int64_t blocks = ceil_div(p->count * p->height * p->width, PREPARE_THREADS);
    LAUNCH(be, phase_continue_kernel, blocks, PREPARE_THREADS, 0, *p);
    TRY_FFT(rows->fft->run(rows->handle, p->z, p->z, CUFFT_FORWARD), DOING);
    LAUNCH(be, phase_turn_kernel, blocks, PREPARE_THREADS, 0, p->z, p->turned, p->count, p->height,
           p->width);
    TRY_FFT(columns->fft->run(columns->handle, p->turned, p->turned, CUFFT_FORWARD), DOING);
    LAUNCH(be, phase_filter_kernel, blocks, PREPARE_THREADS, 0, *p);
    TRY_FFT(columns->fft->run(columns->handle, p->turned, p->turned, CUFFT_INVERSE), DOING);
    LAUNCH(be, phase_turn_kernel, blocks, PREPARE_THREADS, 0, p->turned, p->z, p->count, p->width,
           p->height);
    TRY_FFT(rows->fft->run(rows->handle, p->z, p->z, CUFFT_INVERSE), DOING);
    LAUNCH(be, phase_store_kernel, ceil_div(p->count * p->rows * p->channels, PREPARE_THREADS),
           PREPARE_THREADS, 0, *p);
    return ERR_OK;
}

/* Every round has as many pairs; of the last, some are done again. */
static enum err all_pairs(struct cuda_backend *be, struct pairs *p, struct prepare_plan *rows,
                          struct prepare_plan *columns)
{
    const int64_t total = ceil_div(p->views, 2);
    TRY(prepare_plan_make(be, rows, p->width, p->count * p->height, DOING));
    TRY(prepare_plan_make(be, columns, p->height, p->count * p->width, DOING));
    for (int64_t first = 0; first < total; first += p->count) {
        p->first = size_min(first, total - p->count);
        TRY(some_pairs(be, p, rows, columns));
    }
    return cuda_sync(&be->base);
}

enum err prepare_phase_views(struct cuda_backend *be, const struct prepare_step *s, const float *in,
                             float *out)
{
    const int64_t margin = prepare_phase_margin(s);
    struct pairs p = {in,
                      out,
                      s->in[0],
                      s->in[1],
                      s->in[2],
                      prepare_phase_length(s, s->in[1]),
                      prepare_phase_length(s, s->in[2]),
                      margin,
                      0,
                      0,
                      NULL,
                      NULL,
                      s->ratio};
    const size_t plane = (size_t)(p.height * p.width) * sizeof(float2);
    p.count = size_max(1, size_min(ceil_div(p.views, 2), (int64_t)(ROOM_LEAST / (2 * plane))));
    FAIL_IF(p.count * p.height > INT32_MAX || p.count * p.width > INT32_MAX, ERR_UNSUPPORTED,
            "views of %lld x %lld pixels are too large for phase retrieval on a GPU: use "
            "`backend=cpu`",
            (long long)p.rows, (long long)p.channels);
    TRY(workspace_hold(be, "phase retrieval", 2 * plane * (size_t)p.count, &be->scratch));
    p.z = static_cast<float2 *>(be->scratch.ptr);
    p.turned = p.z + p.count * p.height * p.width;
    struct prepare_plan rows = {}, columns = {};
    const enum err e = all_pairs(be, &p, &rows, &columns);
    prepare_plan_drop(be, &rows);
    prepare_plan_drop(be, &columns);
    return e;
}
