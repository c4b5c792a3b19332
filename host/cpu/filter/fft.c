/* The FFT library behind fft.h: FFTW where the build has it, else kissfft. */
#include <pthread.h>
#include <stdlib.h>

#ifdef TP_FFTW
#include <fftw3.h>
#else
#include <kissfft/kiss_fft.h>
#endif

#include "base/memory.h"
#include "host/cpu/filter/fft.h"

#define LENGTH_MAX ((int64_t)1 << 28) /* both libraries count in int */

#ifdef TP_FFTW

struct fft {
    fftwf_plan forward, inverse;
};

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER; /* FFTW plans in one thread at a time */

/* FFTW_ESTIMATE: a plan chosen by stopwatch (FFTW_MEASURE) differs from run to run, and so do the
 * last bits of its results; it also takes 0.1 s at 2048. */
static int fft_plan(struct fft *f, int n, float *a, float *b)
{
    fftwf_complex *in = (fftwf_complex *)a, *out = (fftwf_complex *)b;
    const unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;
    pthread_mutex_lock(&planner);
    f->forward = fftwf_plan_dft_1d(n, in, out, FFTW_FORWARD, flags);
    f->inverse = fftwf_plan_dft_1d(n, in, out, FFTW_BACKWARD, flags);
    pthread_mutex_unlock(&planner);
    return f->forward && f->inverse;
}

static void fft_unplan(struct fft *f)
{
    pthread_mutex_lock(&planner);
    fftwf_destroy_plan(f->forward);
    fftwf_destroy_plan(f->inverse);
    pthread_mutex_unlock(&planner);
}

void fft_forward(const struct fft *f, const float *in, float *out)
{
    fftwf_execute_dft(f->forward, (fftwf_complex *)in, (fftwf_complex *)out);
}

void fft_inverse(const struct fft *f, const float *in, float *out)
{
    fftwf_execute_dft(f->inverse, (fftwf_complex *)in, (fftwf_complex *)out);
}

#else

struct fft {
    kiss_fft_cfg forward, inverse;
};

static int fft_plan(struct fft *f, int n, float *a, float *b)
{
    (void)a;
    (void)b;
    f->forward = kiss_fft_alloc(n, 0, NULL, NULL);
    f->inverse = kiss_fft_alloc(n, 1, NULL, NULL);
    return f->forward && f->inverse;
}

static void fft_unplan(struct fft *f)
{
    kiss_fft_free(f->forward);
    kiss_fft_free(f->inverse);
}

void fft_forward(const struct fft *f, const float *in, float *out)
{
    kiss_fft(f->forward, (const kiss_fft_cpx *)in, (kiss_fft_cpx *)out);
}

void fft_inverse(const struct fft *f, const float *in, float *out)
{
    kiss_fft(f->inverse, (const kiss_fft_cpx *)in, (kiss_fft_cpx *)out);
}

#endif

enum err fft_create(int64_t n, struct fft **out)
{
    FAIL_IF(n < 1 || n > LENGTH_MAX, ERR_INTERNAL, "no FFT of length %lld", (long long)n);
    void *a = NULL, *b = NULL; /* a planner looks at their alignment */
    enum err e = ERR_OK;
    struct fft *f = calloc(1, sizeof *f);
    if (!f)
        return FAIL(ERR_MEMORY, "no memory left to prepare an FFT of length %lld", (long long)n);
    TRY_OUT(mem_alloc("FFT", (size_t)n * 2 * sizeof(float), &a));
    TRY_OUT(mem_alloc("FFT", (size_t)n * 2 * sizeof(float), &b));
    if (fft_plan(f, (int)n, a, b)) {
        *out = f;
        f = NULL;
    } else {
        e = FAIL(ERR_MEMORY, "no memory left to prepare an FFT of length %lld", (long long)n);
    }
out:
    mem_free(a);
    mem_free(b);
    fft_free(f);
    return e;
}

void fft_free(struct fft *f)
{
    if (!f)
        return;
    fft_unplan(f);
    free(f);
}
