/* Ramp filter along channels: two rows travel as the real and imaginary parts of one, since the
 * spectrum is real and even. Here: rows that are too long for one block, by cuFFT. Weights and
 * zeros go in with the first pass, the scale with the last. */
#include <stdlib.h>
#include <string.h>

#include "cuda/filter/fft.cuh"
#include "cuda/filter/filter.cuh"

#define THREADS    256
#define ROOM_LEAST ((size_t)64 << 20)
#define PAIRS_MOST ((int64_t)1 << 20)

/* Plans for rows of one length; kept for the next call. */
struct fft_plans {
    int64_t channels, n, pairs;
    int ready;
    cufftHandle handle;
    struct workspace area, spectrum;
    struct cuda_backend *be;
};

/* Pairs of rows that are filtered together. */
struct packed_rows {
    struct rows rows;
    float2 *z;     /* [pairs][n] */
    int64_t first; /* pair */
    int n;
};

static __global__ void __launch_bounds__(THREADS)
    pack_kernel(const struct packed_rows r, int64_t total)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < total)
        r.z[i] = sample_pair(r.rows, pair_row(r.rows, r.first + i / r.n), (int)(i % r.n));
}

static __global__ void __launch_bounds__(THREADS)
    multiply_kernel(float2 *z, const float *spectrum, int n, int64_t total)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= total)
        return;
    const float factor = spectrum[i % n];
    z[i].x *= factor;
    z[i].y *= factor;
}

static __global__ void __launch_bounds__(THREADS)
    unpack_kernel(const struct packed_rows r, int64_t total)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= total)
        return;
    const int64_t pair = i / r.rows.channels;
    const int c = (int)(i % r.rows.channels);
    store_pair(r.rows, pair_row(r.rows, r.first + pair), c, r.z[pair * r.n + c]);
}

static __global__ void __launch_bounds__(THREADS)
    spectrum_kernel(int64_t channels, int64_t n, float *spectrum)
{
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (k < n)
        spectrum[k] = ramp_spectrum(k, channels, n);
}

static void plans_forget(struct fft_plans *p)
{
    const struct fft_calls *fft;
    if (p->ready && fft_load(&fft) == ERR_OK)
        fft->destroy(p->handle);
    p->ready = 0;
    workspace_drop(p->be, &p->area);
    workspace_drop(p->be, &p->spectrum);
}

static void free_plans(struct cuda_backend *be)
{
    if (be->plans)
        plans_forget(be->plans);
    free(be->plans);
    be->plans = NULL;
}

const struct device_cache fft_plans_cache = {free_plans, 1, NULL, NULL};

static enum err plans_prepare(struct fft_plans *p, const struct fft_calls *fft, int64_t channels,
                              int64_t n, int64_t pairs)
{
    struct cuda_backend *be = p->be;
    int length = (int)n;
    size_t area = 0;
    plans_forget(p);
    TRY_FFT(fft->create(&p->handle), "preparing");
    p->ready = 1;
    TRY_FFT(fft->no_workspace(p->handle, 0), "preparing");
    TRY_FFT(fft->make(p->handle, 1, &length, NULL, 1, length, NULL, 1, length, CUFFT_C2C,
                      (int)pairs, &area),
            "preparing");
    TRY(workspace_hold(be, "cuFFT", area, &p->area));
    TRY_FFT(fft->workspace(p->handle, p->area.ptr), "preparing");
    TRY_FFT(fft->stream(p->handle, be->stream), "preparing");
    TRY(workspace_hold(be, "the ramp's spectrum", (size_t)n * sizeof(float), &p->spectrum));
    LAUNCH(be, spectrum_kernel, ceil_div(n, THREADS), THREADS, 0, channels, n,
           static_cast<float *>(p->spectrum.ptr));
    p->channels = channels;
    p->n = n;
    p->pairs = pairs;
    return ERR_OK;
}

/* A tenth of the sinogram's bytes as scratch, at least 64 MiB; rounds of equal size. */
static int64_t pairs_of(const struct rows *r, int64_t n)
{
    const size_t tenth = (size_t)(r->count * r->channels) * sizeof(float) / 10;
    const size_t room = tenth > ROOM_LEAST ? tenth : ROOM_LEAST;
    const int64_t fit =
        size_max(1, size_min(PAIRS_MOST, (int64_t)(room / ((size_t)n * sizeof(float2)))));
    return ceil_div(r->pairs, ceil_div(r->pairs, fit));
}

static enum err plans_find(struct cuda_backend *be, const struct fft_calls *fft,
                           const struct rows *r, struct fft_plans **out)
{
    const int64_t n = fft_length(2 * (int64_t)r->channels - 1), pairs = pairs_of(r, n);
    if (!be->plans)
        be->plans = static_cast<struct fft_plans *>(calloc(1, sizeof *be->plans));
    struct fft_plans *p = *out = be->plans;
    FAIL_IF(!p, ERR_MEMORY, "no memory for a plan of the filter");
    p->be = be;
    if (!p->ready || p->channels != r->channels || p->n != n || p->pairs != pairs) {
        const enum err e = plans_prepare(p, fft, r->channels, n, pairs);
        if (e) {
            plans_forget(p);
            return e;
        }
    }
    return workspace_hold(be, "scratch of the filter", (size_t)(pairs * n) * sizeof(float2),
                          &be->scratch);
}

static struct rows filter_rows_of(const struct scan *s, double scale, const float *y, float *out)
{
    struct rows r = {};
    r.y = y;
    r.out = out;
    r.count = s->views * s->rows;
    r.pairs = ceil_div(s->views, 2) * s->rows;
    r.channels = (int)s->channels;
    r.per_view = (int)s->rows;
    r.scale = (float)scale;
    r.weighted = s->beam == BEAM_CONE && isfinite(s->source_detector);
    if (r.weighted) {
        const double d = s->source_detector;
        r.delta_row = (float)(s->delta_row / d);
        r.delta_channel = (float)(s->delta_channel / d);
        r.row_centre = (float)((0.5 * (double)(s->rows - 1) * s->delta_row + s->row_offset) / d);
        r.channel_centre =
            (float)((0.5 * (double)(s->channels - 1) * s->delta_channel + s->channel_offset) / d);
    }
    return r;
}

static enum err cufft_filter(struct cuda_backend *be, const struct rows *rows)
{
    const struct fft_calls *fft;
    struct fft_plans *p;
    TRY(fft_load(&fft));
    TRY(plans_find(be, fft, rows, &p));
    struct packed_rows r = {*rows, static_cast<float2 *>(be->scratch.ptr), 0, (int)p->n};
    const int64_t in = p->pairs * r.n, out = p->pairs * rows->channels;
    for (r.first = 0; r.first < rows->pairs; r.first += p->pairs) {
        LAUNCH(be, pack_kernel, ceil_div(in, THREADS), THREADS, 0, r, in);
        TRY_FFT(fft->run(p->handle, r.z, r.z, CUFFT_FORWARD), "filtering");
        LAUNCH(be, multiply_kernel, ceil_div(in, THREADS), THREADS, 0, r.z,
               static_cast<const float *>(p->spectrum.ptr), r.n, in);
        TRY_FFT(fft->run(p->handle, r.z, r.z, CUFFT_INVERSE), "filtering");
        LAUNCH(be, unpack_kernel, ceil_div(out, THREADS), THREADS, 0, r, out);
    }
    return ERR_OK;
}

static enum err filter_by_length(struct cuda_backend *be, const struct rows *r)
{
    enum err e;
    if (!wants_cufft() && ramp_rows(be, r, &be->ramp, &e))
        return e;
    return cufft_filter(be, r);
}

enum err cuda_ramp_filter(struct backend *base, const struct scan *s, double scale,
                          const struct buffer *y, struct buffer *out)
{
    const size_t bytes = (size_t)scan_samples(s) * sizeof(float);
    TRY(backend_check_sizes("a ramp filter", bytes, bytes, y, out));
    if (!bytes)
        return ERR_OK;
    mark_push("ramp_filter", bytes);
    const struct rows r = filter_rows_of(s, scale, floats_of(y), floats_of(out));
    const enum err e = filter_by_length(device_of(base), &r);
    mark_pop();
    /* 2.5 n log2 n for each real transform, there and back; radix 2 for the bytes of the cache. */
    const double n = (double)fft_length(2 * s->channels - 1), steps = log2(n);
    const double rows = (double)(s->views * s->rows);
    backend_declare(base, rows * 2 * 2.5 * n * steps, rows * (double)s->channels * 8,
                    rows * 2 * 8 * n * steps);
    return e;
}
