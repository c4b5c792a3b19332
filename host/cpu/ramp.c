#include <math.h>

#include "host/base/mem.h"
#include "host/cpu/ramp.h"

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
static float *arrange(const float *natural, int64_t n, int64_t first, int64_t stride, float *out)
{
    if (n == 1) {
        *out = natural[first];
        return out + 1;
    }
    const int64_t radix = n == 8 ? 2 : 4;
    for (int64_t q = 0; q < radix; q++)
        out = arrange(natural, n / radix, first + q * stride, stride * radix, out);
    return out;
}

/* For each pass over m = n, n/4, ... points: cos, -sin of 2 pi j q / m, q = 1..3 (q = 1 for the 8
 * of radix 2). */
static void fill_twiddle(int64_t n, float *w)
{
    for (int64_t m = n; m > 4; m /= 4)
        for (int64_t j = 0; j < (m == 8 ? 4 : m / 4); j++)
            for (int64_t q = 1; q <= (m == 8 ? 1 : 3); q++) {
                const double angle = 2 * M_PI * (double)(j * q) / (double)m;
                *w++ = (float)cos(angle);
                *w++ = (float)-sin(angle);
            }
}

static enum err kernel_tables(struct row_filter *f)
{
    void *arranged, *twiddle;
    TRY(mem_alloc("ramp filter", (size_t)(2 * f->n) * sizeof(float), &twiddle));
    f->twiddle = twiddle;
    fill_twiddle(f->n, twiddle);
    TRY(mem_alloc("ramp filter", (size_t)f->n * sizeof(float), &arranged));
    arrange(f->spectrum, f->n, 0, 1, arranged);
    mem_free((void *)f->spectrum);
    f->spectrum = arranged;
    return ERR_OK;
}

/* The kernel takes twice the rows per second of FFTW at equal lengths (0.64e6 against 0.29e6 at
 * 2048, one AVX-512 thread), but powers of two only, and whole blocks: half of one is even. */
static void choose(struct ramp *r, int64_t channels, int64_t views)
{
    const struct filter_kernels *kernels = ISA_PICK(filter_kernels);
    const int64_t good = fft_good_size(2 * channels - 1);
    int64_t power = 1;
    while (power < 2 * channels - 1)
        power *= 2;
    const int worth =
        2 * power <= 3 * good && channels >= FILTER_CHANNELS_MIN && 2 * views >= kernels->rows;
    r->kernels = worth ? kernels : NULL;
    r->rows = worth ? kernels->rows : 2;
    r->filter.channels = channels;
    r->filter.n = worth ? power : good;
}

enum err ramp_create(int64_t channels, int64_t views, double scale, int threads, struct ramp *out)
{
    *out = (struct ramp){0};
    choose(out, channels, views);
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
