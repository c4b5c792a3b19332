/* Trial centres, as host/cpu/prepare/symmetry.c explains: all rows of some trials are transformed
 * along channels, then along views; blocks add up what lies outside of a trial's wedge. */
#include "cuda/prepare/prepare.cuh"

extern "C" {
#include "host/backend/symmetry_math.h"
}

#define ROOM  ((size_t)128 << 20)
#define PARTS 32 /* blocks that share a trial's spectrum */
#define DOING "comparing trial centres"

struct turn_trials {
    const float *in; /* (views, channels) */
    float *out;
    int64_t views, channels, bands; /* bands: frequencies along channels from 2 on */
    int64_t first, count;           /* trials from `first` on */
    double center, step;
    float2 *rows;  /* [1 + count][views][channels]: the given half, then those of the trials */
    float2 *lines; /* [count][bands][2 views] */
    double *sums;  /* [count][PARTS] */
};

static __global__ void __launch_bounds__(PREPARE_THREADS)
    symmetry_rows_kernel(const __grid_constant__ struct turn_trials p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= (1 + p.count) * p.views * p.channels)
        return;
    const int64_t line = i / p.channels, c = i - line * p.channels;
    const int64_t trial = line / p.views, v = line - trial * p.views;
    const double center = p.center + (double)(p.first + trial - 1) * p.step;
    p.rows[i] =
        make_float2(trial ? prepare_mirrored(p.in, p.views, p.channels, center, v, c) : p.in[i], 0);
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    symmetry_lines_kernel(const __grid_constant__ struct turn_trials p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    const int64_t height = 2 * p.views;
    if (i >= p.count * p.bands * height)
        return;
    const int64_t line = i / height, v = i - line * height, trial = line / p.bands;
    const int64_t row = v < p.views ? v : (trial + 1) * p.views + v - p.views;
    p.lines[i] = p.rows[row * p.channels + 2 + line - trial * p.bands];
}

static __global__ void __launch_bounds__(SUM_THREADS)
    symmetry_sum_kernel(const __grid_constant__ struct turn_trials p)
{
    SHARED_ARRAY(struct reduction<1>, shared);
    const int64_t height = 2 * p.views, trial = blockIdx.x / PARTS, part = blockIdx.x % PARTS;
    const float2 *z = p.lines + trial * p.bands * height;
    struct reduction<1> t = {
        {
            0
        }
    };
    for (int64_t b = part; b < p.bands; b += PARTS)
        for (int64_t k = threadIdx.x; k < height; k += SUM_THREADS) {
            const int64_t along = 2 * k <= height ? k : height - k;
            const float2 x = z[b * height + k];
            if (prepare_wedge(p.views, p.channels, along) >= b + 2)
                t.value[0] += hypot((double)x.x, (double)x.y);
        }
    block_reduce(&t, 1, shared);
    if (threadIdx.x == 0)
        p.sums[blockIdx.x] = t.value[0];
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    symmetry_score_kernel(const __grid_constant__ struct turn_trials p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    double sum = 0;
    if (i >= p.count)
        return;
    for (int part = 0; part < PARTS; part++)
        sum += p.sums[i * PARTS + part];
    p.out[p.first + i] = (float)(sum / (double)(p.channels * 2 * p.views));
}

static enum err some_trials(struct cuda_backend *be, const struct turn_trials *p,
                            const struct prepare_plan *across, const struct prepare_plan *down)
{
    const int64_t samples = (1 + p->count) * p->views * p->channels;
    const int64_t spectrum = p->count * p->bands * 2 * p->views;
    LAUNCH(be, symmetry_rows_kernel, ceil_div(samples, PREPARE_THREADS), PREPARE_THREADS, 0, *p);
    TRY_FFT(across->fft->run(across->handle, p->rows, p->rows, CUFFT_FORWARD), DOING);
    LAUNCH(be, symmetry_lines_kernel, ceil_div(spectrum, PREPARE_THREADS), PREPARE_THREADS, 0, *p);
    TRY_FFT(down->fft->run(down->handle, p->lines, p->lines, CUFFT_FORWARD), DOING);
    LAUNCH(be, symmetry_sum_kernel, p->count * PARTS, SUM_THREADS, REDUCE_BYTES(1), *p);
    LAUNCH(be, symmetry_score_kernel, ceil_div(p->count, PREPARE_THREADS), PREPARE_THREADS, 0, *p);
    return ERR_OK;
}

/* Every round has as many trials; of the last, some are done again. */
static enum err all_trials(struct cuda_backend *be, struct turn_trials *p, int64_t total,
                           struct prepare_plan *across, struct prepare_plan *down)
{
    TRY(prepare_plan_make(be, across, p->channels, (1 + p->count) * p->views, DOING));
    TRY(prepare_plan_make(be, down, 2 * p->views, p->count * p->bands, DOING));
    for (int64_t first = 0; first < total; first += p->count) {
        p->first = size_min(first, total - p->count);
        TRY(some_trials(be, p, across, down));
    }
    return cuda_sync(&be->base);
}

enum err prepare_symmetry_trials(struct cuda_backend *be, const struct prepare_step *s,
                                 const float *in, float *out)
{
    struct turn_trials p = {};
    p.in = in;
    p.out = out;
    p.views = s->in[0];
    p.channels = s->in[2];
    p.bands = p.channels / 2 - 1;
    p.center = s->first_center;
    p.step = s->center_step;
    FAIL_IF(s->in[1] != 1 || p.bands < 1, ERR_INTERNAL,
            "trial centres on %lld detector rows of %lld channels", (long long)s->in[1],
            (long long)p.channels);
    const size_t half = (size_t)(p.views * p.channels) * sizeof(float2);
    const size_t one =
        half + (size_t)(p.bands * 2 * p.views) * sizeof(float2) + PARTS * sizeof(double);
    const size_t left = half < ROOM ? ROOM - half : 0;
    p.count = size_max(1, size_min(s->out[2], (int64_t)(left / one)));
    FAIL_IF((1 + p.count) * p.views > INT32_MAX || p.count * p.bands > INT32_MAX, ERR_UNSUPPORTED,
            "sinograms of %lld x %lld samples are too large to compare trial centres on a GPU: use "
            "`backend=cpu`",
            (long long)p.views, (long long)p.channels);
    TRY(workspace_hold(be, DOING, half + one * (size_t)p.count, &be->scratch));
    p.sums = static_cast<double *>(be->scratch.ptr);
    p.rows = reinterpret_cast<float2 *>(p.sums + p.count * PARTS);
    p.lines = p.rows + (1 + p.count) * p.views * p.channels;
    struct prepare_plan across = {}, down = {};
    const enum err e = all_trials(be, &p, s->out[2], &across, &down);
    prepare_plan_drop(be, &across);
    prepare_plan_drop(be, &down);
    return e;
}
