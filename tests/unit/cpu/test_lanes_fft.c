/* links: tp_cpu */
/* Transforms over lanes, against a discrete Fourier transform in float64. */
#include <math.h>

#include "base/memory.h"
#include "host/cpu/filter/fft.h"
#include "host/cpu/fourier/lanes_fft.h"
#include "tests/unit/check.h"

static float *elements(int64_t n)
{
    void *p;
    assert_ok(mem_alloc("test", (size_t)(n * LANES) * sizeof(float), &p));
    return p;
}

static float input(int64_t k, int lane)
{
    return (float)((k * 37 + 11 * lane + 5) % 101) / 101 - 0.4f;
}

/* Array `lane` of the result, relative to its own length. */
static double error_of(const float *out, int64_t n, int sign, int lane)
{
    double error = 0, norm = 0;
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int64_t j = 0; j < n; j++) {
            const double angle = sign * 2 * M_PI * (double)(j * k % n) / (double)n;
            const double a = input(j, lane), b = input(j, lane + LANES_COMPLEX);
            re += a * cos(angle) - b * sin(angle);
            im += a * sin(angle) + b * cos(angle);
        }
        const double d = (double)out[k * LANES + lane] - re,
                     e = (double)out[k * LANES + lane + LANES_COMPLEX] - im;
        error += d * d + e * e;
        norm += re * re + im * im;
    }
    return sqrt(error / norm);
}

static void each_length_and_sign_agrees_in_all_lanes(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 250; n++) {
        struct lanes_fft f;
        if (fft_good_size(n) != n)
            continue;
        float *a = elements(n), *b = elements(n);
        assert_ok(lanes_fft_create(n, &f));
        for (int sign = -1; sign <= 1; sign += 2) {
            for (int64_t i = 0; i < n * LANES; i++)
                a[i] = input(i / LANES, (int)(i % LANES));
            const float *out = lanes_fft_run(&f, sign, a, b);
            for (int lane = n > 60 ? LANES_COMPLEX - 1 : 0; lane < LANES_COMPLEX; lane++)
                assert_true(error_of(out, n, sign, lane) < 3e-7);
        }
        lanes_fft_free(&f);
        mem_free(a);
        mem_free(b);
    }
}

static void other_lengths_are_refused(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, -4, 7, 22, (int64_t)1 << 30};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct lanes_fft f;
        assert_int_equal(lanes_fft_create(lengths[i], &f), ERR_INTERNAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_length_and_sign_agrees_in_all_lanes),
        cmocka_unit_test(other_lengths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
