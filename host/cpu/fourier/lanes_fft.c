/* Lengths and twiddle factors of transforms over lanes. */
#include <math.h>
#include <stddef.h>

#include "base/memory.h"
#include "host/cpu/fourier/lanes_fft.h"

static int lanes_factorise(int64_t n, int radix[LANES_PASSES])
{
    static const int radices[] = {4, 2, 3, 5};
    int count = 0;
    for (int i = 0; i < 4; i++)
        for (; n > 1 && n % radices[i] == 0; n /= radices[i])
            radix[count++] = radices[i];
    return n == 1 ? count : -1;
}

static void lanes_fill_twiddles(const struct lanes_fft *f)
{
    float *w = f->twiddle;
    int64_t m = f->n;
    for (int i = 0; i < f->passes; i++) {
        for (int64_t p = 0; p < m / f->radix[i]; p++)
            for (int64_t j = 1; j < f->radix[i]; j++) {
                const double angle = 2 * M_PI * (double)(j * p) / (double)m;
                *w++ = (float)cos(angle);
                *w++ = (float)sin(angle);
            }
        m /= f->radix[i];
    }
}

enum err lanes_fft_create(int64_t n, struct lanes_fft *out)
{
    void *twiddle;
    *out = (struct lanes_fft){.n = n};
    out->passes = n > 0 && n < (int64_t)1 << 28 ? lanes_factorise(n, out->radix) : -1;
    FAIL_IF(out->passes < 0, ERR_INTERNAL, "FFT over lanes of length %lld", (long long)n);
    /* pairs: less than m for a pass over m points, and m at least halves */
    TRY(mem_alloc("FFT", (size_t)(4 * n) * sizeof(float), &twiddle));
    out->twiddle = twiddle;
    lanes_fill_twiddles(out);
    return ERR_OK;
}

void lanes_fft_free(struct lanes_fft *f)
{
    mem_free(f->twiddle);
    f->twiddle = NULL;
}

float *lanes_fft_run(const struct lanes_fft *f, int sign, float *a, float *b)
{
    return ISA_PICK(lanes_fft_kernels)->run(f, sign, a, b);
}
