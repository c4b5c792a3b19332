/* Spectrum and twiddle factors of the ramp filter for one length, in the order in which the
 * kernel's transform needs them. */
#include <math.h>

#include "base/memory.h"
#include "host/cpu/filter/ramp.h"

/* Real and even: H(k) = h(0) + 2 sum_m h(m) cos(2 pi k m / n) over odd m < channels, divided by n
 * for the transforms there and back. Float64; a circle of n >= 2 channels - 1 holds all taps.
 * channels^2 / 2 terms: 2 ms at 2048 channels on one core. */
static void natural_spectrum(int64_t channels, int64_t n, double scale, double *cosine, int threads,
                             float *spectrum)
{
    for (int64_t j = 0; j < n; j++)
        cosine[j] = cos(2 * M_PI * (double)j / (double)n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k <= n / 2; k++) {
        const int64_t step = 2 * k % n;
        int64_t phase = k; /* k m mod n */
        double sum = 0;
        for (int64_t m = 1; m < channels; m += 2) {
            sum += cosine[phase] / ((double)m * (double)m);
            phase += step;
            phase -= phase >= n ? n : 0;
        }
        spectrum[k] = (float)(scale / (double)n * (0.25 - 2 / (M_PI * M_PI) * sum));
    }
    for (int64_t k = n / 2 + 1; k < n; k++)
        spectrum[k] = spectrum[n - k];
}

/* The order in which the kernel's forward passes leave frequencies: a pass of radix r puts those
 * with frequency = first + q stride mod (r stride) into its q-th part. */
static float *ramp_arrange(const float *natural, int64_t n, int64_t first, int64_t stride,
                           float *out)
{
    if (n == 1) {
        *out = natural[first];
        return out + 1;
    }
    const int64_t radix = n == 8 ? 2 : n % 3 == 0 ? 3 : n % 5 == 0 ? 5 : 4;
    for (int64_t q = 0; q < radix; q++)
        out = ramp_arrange(natural, n / radix, first + q * stride, stride * radix, out);
    return out;
}

static float *put_root(float *w, int64_t k, int64_t n)
{
    const double angle = 2 * M_PI * (double)k / (double)n;
    *w++ = (float)cos(angle);
    *w++ = (float)-sin(angle);
    return w;
}

/* cos, -sin of 2 pi j q / m, q = 1..radix-1, for a pass over m points. */
static float *fill_pass(float *w, int64_t m, int64_t radix)
{
    for (int64_t j = 0; j < m / radix; j++)
        for (int64_t q = 1; q < radix; q++)
            w = put_root(w, j * q, m);
    return w;
}

/* For radix 3 and 5 its roots and its pass, then passes over m, m/4, ... points (radix 2 for 8). */
static void fill_twiddle(const struct row_filter *f, float *w)
{
    int64_t m = f->n;
    if (f->radix != 4) {
        for (int k = 0; k < f->radix; k++)
            w = put_root(w, k, f->radix);
        w = fill_pass(w, m, f->radix);
        m /= f->radix;
    }
    for (; m > 4; m /= 4)
        w = fill_pass(w, m, m == 8 ? 2 : 4);
}

static enum err kernel_tables(struct row_filter *f)
{
    void *arranged, *twiddle;
    /* each pass over m points has less than 2 m, those after it a quarter of that each */
    TRY(mem_alloc("ramp filter", (size_t)(3 * f->n) * sizeof(float), &twiddle));
    f->twiddle = twiddle;
    fill_twiddle(f, twiddle);
    TRY(mem_alloc("ramp filter", (size_t)f->n * sizeof(float), &arranged));
    ramp_arrange(f->spectrum, f->n, 0, 1, arranged);
    mem_free((void *)f->spectrum);
    f->spectrum = arranged;
    return ERR_OK;
}

/* The least of 2^k, 3 2^k and 5 2^k that holds the taps. */
static void kernel_length(struct row_filter *f)
{
    static const int odd[] = {1, 3, 5};
    f->n = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t n = 8 * odd[i];
        while (n < 2 * f->channels - 1)
            n *= 2;
        if (n < f->n) {
            f->n = n;
            f->radix = odd[i] == 1 ? 4 : odd[i];
        }
    }
}

/* The kernel takes twice the rows per second of FFTW at equal lengths (0.64e6 against 0.29e6 at
 * 2048, one AVX-512 thread), but some lengths only, and whole blocks: half of one is even. */
static void ramp_choose_length(struct ramp *r, int64_t channels, int64_t views)
{
    const struct filter_kernels *kernels = ISA_PICK(filter_kernels);
    const int worth = channels >= FILTER_CHANNELS_MIN && 2 * views >= kernels->rows;
    r->kernels = worth ? kernels : NULL;
    r->rows = worth ? kernels->rows : 2;
    r->filter.channels = channels;
    if (worth)
        kernel_length(&r->filter);
    else
        r->filter.n = fft_good_size(2 * channels - 1);
}

enum err ramp_create(int64_t channels, int64_t views, double scale, int threads, struct ramp *out)
{
    *out = (struct ramp){0};
    ramp_choose_length(out, channels, views);
    struct row_filter *f = &out->filter;
    void *cosine, *spectrum;
    TRY(mem_alloc("ramp filter", (size_t)f->n * sizeof(float), &spectrum));
    f->spectrum = spectrum;
    TRY(mem_alloc("ramp filter", (size_t)f->n * sizeof(double), &cosine));
    natural_spectrum(channels, f->n, scale, cosine, threads, spectrum);
    mem_free(cosine);
    if (out->kernels)
        return kernel_tables(f);
    return fft_create(f->n, &out->fft);
}

void ramp_free(struct ramp *r)
{
    mem_free((void *)r->filter.spectrum);
    mem_free((void *)r->filter.twiddle);
    fft_free(r->fft);
}
