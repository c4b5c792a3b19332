#include <math.h>
#include <omp.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/cpu/fft.h"
#include "host/cpu/internal.h"
#include "profiler/mark/mark.h"

/* Two detector rows at a time go through one complex transform as a + i b: the filter's spectrum is
 * real, so neither mixes with the other, and a = re, b = im of the result. */
struct ramp {
    const struct scan *scan;
    int weighted;        /* cone: cosine weights */
    int64_t channels, n; /* n: length of the transform */
    struct fft *fft;
    float *spectrum; /* [n], with the scale and 1/n */
};

/* What one thread works on. */
struct scratch {
    float *space, *frequency; /* [2 n] */
    float *weight[2];         /* [channels], of detector rows weight_row */
    int64_t weight_row[2];
};

/* Real and even: H(k) = h(0) + 2 sum_m h(m) cos(2 pi k m / n), h(0) = 1/4, h(m) = -1/(pi m)^2 at
 * odd m < channels, else 0 (the ramp |w| of unit pitch, band-limited and cut in space, so that its
 * DC value is right). Float64; a circle of n >= 2 channels - 1 holds all taps. channels^2 / 2
 * terms: 2 ms at 2048 channels on one core. */
static void fill_spectrum(struct ramp *r, double scale, double *cosine, int threads)
{
    const int64_t n = r->n, channels = r->channels;
    for (int64_t j = 0; j < n; j++)
        cosine[j] = cos(2 * M_PI * (double)j / (double)n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k <= n / 2; k++) {
        double sum = 0;
        int64_t phase = k, step = 2 * k % n; /* k m mod n */
        for (int64_t m = 1; m < channels; m += 2) {
            sum += cosine[phase] / ((double)m * (double)m);
            phase += step;
            phase -= phase >= n ? n : 0;
        }
        r->spectrum[k] = (float)(scale / (double)n * (0.25 - 2 / (M_PI * M_PI) * sum));
    }
    for (int64_t k = n / 2 + 1; k < n; k++)
        r->spectrum[k] = r->spectrum[n - k];
}

static enum err ramp_create(const struct scan *s, double scale, int threads, struct ramp *r)
{
    *r = (struct ramp){.scan = s, .channels = s->channels};
    r->weighted = s->beam == BEAM_CONE && isfinite(s->source_detector);
    r->n = fft_good_size(2 * s->channels - 1);
    TRY(fft_create(r->n, &r->fft));
    void *cosine = NULL, *spectrum = NULL;
    enum err e = ERR_OK;
    TRY_OUT(mem_alloc("ramp filter", (size_t)r->n * sizeof(float), &spectrum));
    r->spectrum = spectrum;
    TRY_OUT(mem_alloc("ramp filter", (size_t)r->n * sizeof(double), &cosine));
    fill_spectrum(r, scale, cosine, threads);
out:
    mem_free(cosine);
    return e;
}

static void ramp_free(struct ramp *r)
{
    mem_free(r->spectrum);
    fft_free(r->fft);
}

/* w = D / sqrt(D^2 + u^2 + v^2) at flat coordinates u, v also on a curved detector, as MBIRJAX has
 * it. */
static void fill_weights(const struct scan *s, int64_t row, float *weight)
{
    const double inverse = 1 / s->source_detector;
    const double v = ((double)row - 0.5 * (double)(s->rows - 1)) * s->delta_row - s->row_offset;
    const double base = 1 + v * inverse * (v * inverse);
    for (int64_t c = 0; c < s->channels; c++) {
        const double u =
            ((double)c - 0.5 * (double)(s->channels - 1)) * s->delta_channel - s->channel_offset;
        weight[c] = (float)(1 / sqrt(base + u * inverse * (u * inverse)));
    }
}

/* Rows are taken view after view within a detector row when there are weights, which are then
 * computed once for each detector row and thread, else in the order of memory. */
static int64_t row_offset(const struct ramp *r, int64_t index)
{
    const struct scan *s = r->scan;
    const int64_t row = r->weighted ? index % s->views * s->rows + index / s->views : index;
    return row * r->channels;
}

/* Loads row `index` as part (0: re, 1: im) of the complex row. */
static void load(const struct ramp *r, struct scratch *t, int64_t index, int part, const float *y)
{
    float *to = t->space + part;
    y += row_offset(r, index);
    if (r->weighted) {
        const int64_t row = index / r->scan->views;
        float *w = t->weight[part];
        if (t->weight_row[part] != row)
            fill_weights(r->scan, row, w);
        t->weight_row[part] = row;
        for (int64_t c = 0; c < r->channels; c++)
            to[2 * c] = w[c] * y[c];
    } else {
        for (int64_t c = 0; c < r->channels; c++)
            to[2 * c] = y[c];
    }
}

static void store(const struct ramp *r, const struct scratch *t, int64_t index, int part,
                  float *out)
{
    const float *from = t->space + part;
    out += row_offset(r, index);
    for (int64_t c = 0; c < r->channels; c++)
        out[c] = from[2 * c];
}

static void filter_pair(const struct ramp *r, struct scratch *t, int64_t pair, const float *y,
                        float *out)
{
    const int64_t first = 2 * pair, rows = r->scan->views * r->scan->rows;
    const int parts = first + 1 < rows ? 2 : 1;
    memset(t->space, 0, (size_t)(2 * r->n) * sizeof(float));
    for (int part = 0; part < parts; part++)
        load(r, t, first + part, part, y);
    fft_forward(r->fft, t->space, t->frequency);
    for (int64_t k = 0; k < r->n; k++) {
        t->frequency[2 * k] *= r->spectrum[k];
        t->frequency[2 * k + 1] *= r->spectrum[k];
    }
    fft_inverse(r->fft, t->frequency, t->space);
    for (int part = 0; part < parts; part++)
        store(r, t, first + part, part, out);
}

/* Floats of one thread's scratch, its arrays aligned to 64 bytes. */
static int64_t scratch_floats(const struct ramp *r)
{
    const int64_t channels = (r->channels + 15) / 16 * 16, n = (2 * r->n + 15) / 16 * 16;
    return 2 * n + 2 * channels;
}

static struct scratch scratch_at(const struct ramp *r, float *base)
{
    const int64_t channels = (r->channels + 15) / 16 * 16, n = (2 * r->n + 15) / 16 * 16;
    return (struct scratch){base, base + n, {base + 2 * n, base + 2 * n + channels}, {-1, -1}};
}

static enum err filter_rows(const struct ramp *r, int threads, const float *y, float *out)
{
    const int64_t pairs = (r->scan->views * r->scan->rows + 1) / 2;
    const int64_t stride = scratch_floats(r);
    void *memory;
    TRY(mem_alloc("ramp filter", (size_t)(threads * stride) * sizeof(float), &memory));
#pragma omp parallel num_threads(threads)
    {
        struct scratch t = scratch_at(r, (float *)memory + omp_get_thread_num() * stride);
#pragma omp for schedule(static)
        for (int64_t pair = 0; pair < pairs; pair++)
            filter_pair(r, &t, pair, y, out);
    }
    mem_free(memory);
    return ERR_OK;
}

/* Counted as 2.5 n log2 n for each real transform, there and back, radix 2 for the bytes that pass
 * the cache. */
static void declare(struct backend *be, const struct ramp *r)
{
    const double rows = (double)(r->scan->views * r->scan->rows), n = (double)r->n;
    const double steps = log2(n);
    backend_declare(be, rows * 2 * 2.5 * n * steps, rows * (double)r->channels * 8,
                    rows * 2 * 8 * n * steps);
}

enum err cpu_ramp_filter(struct backend *be, const struct scan *s, double scale,
                         const struct buffer *y, struct buffer *out)
{
    const size_t bytes = (size_t)scan_samples(s) * sizeof(float);
    FAIL_IF(y->bytes < bytes || out->bytes < bytes, ERR_INTERNAL,
            "ramp filter of %zu bytes with buffers of %zu and %zu", bytes, y->bytes, out->bytes);
    if (!bytes)
        return ERR_OK;
    struct ramp r;
    mark_push("ramp_filter", bytes);
    enum err e = ramp_create(s, scale, be->threads, &r);
    if (e == ERR_OK)
        e = filter_rows(&r, be->threads, y->ptr, out->ptr);
    if (e == ERR_OK)
        declare(be, &r);
    ramp_free(&r);
    mark_pop();
    return e;
}
