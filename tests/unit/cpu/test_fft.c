/* links: tp_cpu */
/* The FFT library behind fft.h, against a discrete Fourier transform in float64. */
#include <complex.h>
#include <pthread.h>

#include "base/memory.h"
#include "host/cpu/filter/fft.h"
#include "tests/unit/check.h"

static const double complex i_unit = I;

static int is_good(int64_t n)
{
    for (int factor = 2; factor <= 5; factor++)
        while (n % factor == 0)
            n /= factor;
    return n == 1;
}

static void test_good_size(void **state)
{
    (void)state;
    for (int64_t n = 1, next = 1; n <= 5000; n++) {
        for (next = next > n ? next : n; !is_good(next);)
            next++;
        assert_int_equal(fft_good_size(n), next);
    }
    const int64_t large = ((int64_t)1 << 40) - 1, size = fft_good_size(large);
    assert_true(is_good(size) && size >= large && size <= (int64_t)1 << 40);
}

static float *pairs(int64_t n)
{
    void *p;
    assert_ok(mem_alloc("test", (size_t)n * 2 * sizeof(float), &p));
    return p;
}

static void fill(float *x, int64_t n)
{
    for (int64_t i = 0; i < 2 * n; i++)
        x[i] = (float)((i * 37 + 11) % 101) / 101 - 0.4f;
}

/* |a - b| / |b| */
static double distance(const float *a, const double complex *b, int64_t n)
{
    double error = 0, norm = 0;
    for (int64_t k = 0; k < n; k++) {
        double complex d = (double)a[2 * k] + i_unit * (double)a[2 * k + 1] - b[k];
        error += creal(d * conj(d));
        norm += creal(b[k] * conj(b[k]));
    }
    return sqrt(error / norm);
}

static void dft(const float *x, int64_t n, int sign, double complex *out)
{
    for (int64_t k = 0; k < n; k++) {
        out[k] = 0;
        for (int64_t j = 0; j < n; j++)
            out[k] += ((double)x[2 * j] + i_unit * (double)x[2 * j + 1]) *
                      cexp(sign * 2 * M_PI * i_unit * (double)(j * k % n) / (double)n);
    }
}

static void check_length(int64_t n)
{
    struct fft *f;
    float *x = pairs(n), *y = pairs(n), *kept = pairs(n);
    double complex *twin = malloc((size_t)n * sizeof *twin);
    fill(x, n);
    memcpy(kept, x, (size_t)n * 8);
    assert_ok(fft_create(n, &f));
    fft_forward(f, x, y);
    dft(x, n, -1, twin);
    assert_true(distance(y, twin, n) < 3e-7);
    fft_inverse(f, x, y);
    dft(x, n, 1, twin);
    assert_true(distance(y, twin, n) < 3e-7);
    assert_memory_equal(x, kept, (size_t)n * 8);
    fft_free(f);
    mem_free(x);
    mem_free(y);
    mem_free(kept);
    free(twin);
}

static void test_lengths(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1,  2,  3,   4,   5,   7,   8,   9,  12,
                                      30, 97, 128, 211, 243, 250, 512, 625};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_length(lengths[i]);
}

/* There and back is n times the input, at a length too long for the slow twin. */
static void test_round_trip(void **state)
{
    (void)state;
    const int64_t n = 5400;
    struct fft *f;
    float *x = pairs(n), *y = pairs(n), *z = pairs(n);
    fill(x, n);
    assert_ok(fft_create(n, &f));
    fft_forward(f, x, y);
    fft_inverse(f, y, z);
    for (int64_t i = 0; i < 2 * n; i++)
        assert_near((double)z[i] / (double)n, x[i], 1e-6);
    fft_free(f);
    mem_free(x);
    mem_free(y);
    mem_free(z);
}

/* Threads that create, use and free plans of the same lengths at the same time get the same bits.
 */
struct worker {
    pthread_t thread;
    int failed;
    float sum;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    for (int64_t n = 60; n < 72; n++) {
        float x[2 * 72] __attribute__((aligned(64))), y[2 * 72] __attribute__((aligned(64)));
        struct fft *f;
        if (fft_create(n, &f)) {
            w->failed = 1;
            return NULL;
        }
        fill(x, n);
        for (int repeat = 0; repeat < 20; repeat++)
            fft_forward(f, x, y);
        for (int64_t i = 0; i < 2 * n; i++)
            w->sum += y[i] * (float)(i + 1);
        fft_free(f);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct worker w[5] = {0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    for (int i = 0; i < 5; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(w[i].failed, 0);
        assert_memory_equal(&w[i].sum, &w[0].sum, sizeof(float));
    }
    assert_true(w[0].sum != 0);
}

static void test_wrong(void **state)
{
    (void)state;
    struct fft *f;
    assert_error(fft_create(0, &f), ERR_INTERNAL, "length 0");
    assert_error(fft_create(((int64_t)1 << 28) + 1, &f), ERR_INTERNAL, "268435457");
    fft_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_size),  cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
