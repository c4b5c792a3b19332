/* Removal of stripes by wavelets and Fourier transforms, as host/cpu/prepare/wavelet.c explains. As
 * many detector rows at a time as a workspace holds; planes are [row][views][channels]. */
#include <string.h>

#include "cuda/prepare/prepare.cuh"

#define ROOM_LEAST ((size_t)256 << 20)

/* Lines of n samples that lie `stride` apart, [outer][n][stride]. */
struct lines {
    int64_t outer, n, stride, halves; /* halves: samples of a filtered line */
    int taps;
    float low[PREPARE_TAPS];
};

static __global__ void __launch_bounds__(PREPARE_THREADS)
    wavelet_analyse_kernel(const __grid_constant__ struct lines l, const float *x, float *smooth,
                           float *detail)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= l.outer * l.halves * l.stride)
        return;
    const int64_t line = i / l.stride, at = i - line * l.stride, outer = line / l.halves;
    prepare_analysed(x + outer * l.n * l.stride + at, l.n, l.stride, l.low, l.taps,
                     line - outer * l.halves, smooth + i, detail + i);
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    wavelet_compose_kernel(const __grid_constant__ struct lines l, const float *smooth,
                           const float *detail, float *x)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= l.outer * l.n * l.stride)
        return;
    const int64_t line = i / l.stride, at = i - line * l.stride, outer = line / l.n;
    const int64_t from = outer * l.halves * l.stride + at;
    x[i] = prepare_composed(smooth + from, detail + from, l.halves, l.stride, l.low, l.taps,
                            line - outer * l.n);
}

/* Rows of a sinogram and their continued planes. */
struct continued {
    const float *in;
    float *out, *plane;
    int64_t views, rows, channels, margin, first, count; /* detector rows from `first` on */
};

static __device__ inline int64_t columns_of(const struct continued &c)
{
    return c.channels + 2 * c.margin;
}

/* A thread a column: views go on with their mean, channels with the edge. */
static __global__ void __launch_bounds__(PREPARE_THREADS)
    wavelet_continue_kernel(const __grid_constant__ struct continued c)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x, width = columns_of(c);
    if (i >= c.count * width)
        return;
    const int64_t row = i / width, column = i - row * width - c.margin;
    const int64_t at = column < 0 ? 0 : column < c.channels ? column : c.channels - 1;
    const float *in = c.in + (c.first + row) * c.channels + at;
    float *plane = c.plane + row * (c.views + 2 * c.margin) * width + column + c.margin;
    double sum = 0;
    for (int64_t v = 0; v < c.views; v++) {
        const float x = in[v * c.rows * c.channels];
        plane[(v + c.margin) * width] = x;
        sum += (double)x;
    }
    const float mean = (float)(sum / (double)c.views);
    for (int64_t v = 0; v < c.margin; v++)
        plane[v * width] = plane[(v + c.margin + c.views) * width] = mean;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    wavelet_store_kernel(const __grid_constant__ struct continued c)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x, width = columns_of(c);
    if (i >= c.views * c.count * c.channels)
        return;
    const int64_t line = i / c.channels, channel = i - line * c.channels;
    const int64_t v = line / c.count, row = line - v * c.count;
    c.out[(v * c.rows + c.first + row) * c.channels + channel] =
        c.plane[(row * (c.views + 2 * c.margin) + v + c.margin) * width + channel + c.margin];
}

/* The frequencies that are damped, of planes of one level. */
struct damped {
    float *plane;    /* [rows][views][channels] */
    double *re, *im; /* [rows][count][channels] */
    int64_t rows, views, channels;
    int count;
    float factor[PREPARE_FREQUENCIES];
};

/* A point of the unit circle, float64. */
struct phasor {
    double x, y;
};

static __device__ inline struct phasor wave_phasor(int64_t k, int64_t v, int64_t n)
{
    struct phasor w;
    sincospi(2 * (double)(k * v % n) / (double)n, &w.y, &w.x);
    return w;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    wavelet_spectrum_kernel(const __grid_constant__ struct damped d)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= d.rows * d.count * d.channels)
        return;
    const int64_t line = i / d.channels, at = i - line * d.channels, row = line / d.count;
    const int64_t k = line - row * d.count;
    const float *x = d.plane + row * d.views * d.channels + at;
    const struct phasor turn = wave_phasor(k, 1, d.views);
    struct phasor w = {1, 0};
    double re = 0, im = 0;
    for (int64_t v = 0; v < d.views; v++) {
        if (v % 64 == 0)
            w = wave_phasor(k, v, d.views); /* between, by turning: 64 roundings */
        re += (double)x[v * d.channels] * w.x;
        im += (double)x[v * d.channels] * w.y;
        const double next = w.x * turn.x - w.y * turn.y;
        w.y = w.x * turn.y + w.y * turn.x;
        w.x = next;
    }
    d.re[i] = re;
    d.im[i] = im;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    wavelet_damp_kernel(const __grid_constant__ struct damped d)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    if (i >= d.rows * d.views * d.channels)
        return;
    const int64_t line = i / d.channels, at = i - line * d.channels, row = line / d.views;
    const int64_t v = line - row * d.views;
    const struct phasor turn = wave_phasor(1, v, d.views);
    struct phasor w = {1, 0};
    double change = 0;
    for (int k = 0; k < d.count; k++) {
        const int64_t from = (row * d.count + k) * d.channels + at;
        const double share = (k == 0 || 2 * k == d.views ? 1.0 : 2.0) * (double)d.factor[k];
        change += share * (d.re[from] * w.x + d.im[from] * w.y);
        const double next = w.x * turn.x - w.y * turn.y;
        w.y = w.x * turn.y + w.y * turn.x;
        w.x = next;
    }
    d.plane[i] -= (float)(change / (double)d.views);
}

/* Planes of `rows` detector rows in one workspace. */
struct level_planes {
    struct prepare_levels levels;
    int64_t rows;
    float *smooth[PREPARE_LEVELS + 1], *detail[PREPARE_LEVELS + 1][3];
    float *low, *high; /* channels halved, views not yet */
    struct damped damped;
};

static size_t planes_layout(const struct prepare_levels &l, int levels, int64_t rows, char *at,
                            struct level_planes *p)
{
    const char *const begin = at;
    const int64_t widest = l.channels[1];
    p->damped.re = reinterpret_cast<double *>(at);
    p->damped.im = p->damped.re + rows * PREPARE_FREQUENCIES * widest;
    at += (size_t)(2 * rows * PREPARE_FREQUENCIES * widest) * sizeof(double);
    const auto take = [&](int64_t floats) {
        float *const here = reinterpret_cast<float *>(at);
        at += (size_t)(floats * rows) * sizeof(float);
        return here;
    };
    p->smooth[0] = take(l.views[0] * l.channels[0]);
    for (int i = 1; i <= levels; i++) {
        p->smooth[i] = take(l.views[i] * l.channels[i]);
        for (int k = 0; k < 3; k++)
            p->detail[i][k] = take(l.views[i] * l.channels[i]);
    }
    p->low = take(l.views[0] * widest);
    p->high = take(l.views[0] * widest);
    return (size_t)(at - begin);
}

static struct lines lines_of(const struct prepare_step *s, int64_t outer, int64_t n, int64_t stride,
                             int64_t halves)
{
    struct lines l = {outer, n, stride, halves, 2 * s->order, {}};
    memcpy(l.low, prepare_wavelet(s->order), sizeof l.low);
    return l;
}

/* Returns the lines of a level along channels, then along views. */
static struct lines lines_along_channels(const struct prepare_step *s, const struct level_planes *p,
                                         int level)
{
    const struct prepare_levels &l = p->levels;
    return lines_of(s, p->rows * l.views[level - 1], l.channels[level - 1], 1, l.channels[level]);
}

static struct lines lines_along_views(const struct prepare_step *s, const struct level_planes *p,
                                      int level)
{
    const struct prepare_levels &l = p->levels;
    return lines_of(s, p->rows, l.views[level - 1], l.channels[level], l.views[level]);
}

static int64_t blocks_of(int64_t threads)
{
    return ceil_div(threads, PREPARE_THREADS);
}

static enum err wavelet_analyse_level(struct cuda_backend *be, const struct prepare_step *s,
                                      struct level_planes *p, int level)
{
    const struct lines a = lines_along_channels(s, p, level), d = lines_along_views(s, p, level);
    const int64_t first = blocks_of(a.outer * a.halves),
                  second = blocks_of(d.outer * d.halves * d.stride);
    LAUNCH(be, wavelet_analyse_kernel, first, PREPARE_THREADS, 0, a, p->smooth[level - 1], p->low,
           p->high);
    LAUNCH(be, wavelet_analyse_kernel, second, PREPARE_THREADS, 0, d, p->low, p->smooth[level],
           p->detail[level][1]);
    LAUNCH(be, wavelet_analyse_kernel, second, PREPARE_THREADS, 0, d, p->high, p->detail[level][0],
           p->detail[level][2]);
    return ERR_OK;
}

static enum err wavelet_damp(struct cuda_backend *be, const struct prepare_step *s,
                             struct level_planes *p, int level)
{
    struct damped *d = &p->damped;
    d->plane = p->detail[level][0];
    d->rows = p->rows;
    d->views = p->levels.views[level];
    d->channels = p->levels.channels[level];
    d->count = prepare_damping(s->damping, d->views, PREPARE_FREQUENCIES, d->factor);
    LAUNCH(be, wavelet_spectrum_kernel, blocks_of(d->rows * d->count * d->channels),
           PREPARE_THREADS, 0, *d);
    LAUNCH(be, wavelet_damp_kernel, blocks_of(d->rows * d->views * d->channels), PREPARE_THREADS, 0,
           *d);
    return ERR_OK;
}

static enum err wavelet_compose_level(struct cuda_backend *be, const struct prepare_step *s,
                                      struct level_planes *p, int level)
{
    const struct lines a = lines_along_channels(s, p, level), d = lines_along_views(s, p, level);
    const int64_t first = blocks_of(d.outer * d.n * d.stride), second = blocks_of(a.outer * a.n);
    LAUNCH(be, wavelet_compose_kernel, first, PREPARE_THREADS, 0, d, p->smooth[level],
           p->detail[level][1], p->low);
    LAUNCH(be, wavelet_compose_kernel, first, PREPARE_THREADS, 0, d, p->detail[level][0],
           p->detail[level][2], p->high);
    LAUNCH(be, wavelet_compose_kernel, second, PREPARE_THREADS, 0, a, p->low, p->high,
           p->smooth[level - 1]);
    return ERR_OK;
}

static enum err wavelet_some_rows(struct cuda_backend *be, const struct prepare_step *s,
                                  const struct continued *c, struct level_planes *p)
{
    LAUNCH(be, wavelet_continue_kernel, blocks_of(c->count * p->levels.channels[0]),
           PREPARE_THREADS, 0, *c);
    for (int i = 1; i <= s->levels; i++) {
        TRY(wavelet_analyse_level(be, s, p, i));
        TRY(wavelet_damp(be, s, p, i));
    }
    for (int i = s->levels; i > 0; i--)
        TRY(wavelet_compose_level(be, s, p, i));
    LAUNCH(be, wavelet_store_kernel, blocks_of(c->views * c->count * c->channels), PREPARE_THREADS,
           0, *c);
    return ERR_OK;
}

enum err prepare_wavelet_rows(struct cuda_backend *be, const struct prepare_step *s,
                              const float *in, float *out)
{
    struct level_planes p = {};
    p.levels = prepare_levels_of(s);
    const size_t one = planes_layout(p.levels, s->levels, 1, NULL, &p);
    const int64_t fit = size_max(1, size_min(s->in[1], (int64_t)(ROOM_LEAST / one)));
    TRY(workspace_hold(be, "removal of stripes", one * (size_t)fit, &be->scratch));
    struct continued c = {in, out, NULL, s->in[0], s->in[1], s->in[2], s->margin, 0, 0};
    for (; c.first < c.rows; c.first += fit) {
        p.rows = c.count = size_min(fit, c.rows - c.first);
        planes_layout(p.levels, s->levels, p.rows, static_cast<char *>(be->scratch.ptr), &p);
        c.plane = p.smooth[0];
        TRY(wavelet_some_rows(be, s, &c, &p));
    }
    return ERR_OK;
}
