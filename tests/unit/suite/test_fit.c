/* links: tp_suite */
#include "tests/unit/check.h"
#include "host/suite/statistics/stats.h"

static const double sizes[] = {32, 64, 128, 256, 512};

static struct fit fit_of(double a, double b, double p, int n)
{
    double t[5];
    for (int i = 0; i < n; i++)
        t[i] = a + b * pow(sizes[i], p);
    return fit_power(sizes, t, n);
}

static void near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.12g, expected %.12g", value, expected);
}

static void recovers_what_made_the_times(void **state)
{
    (void)state;
    static const struct {
        double a, b, p;
    } cases[] = {
        {1e-3, 2e-9, 4}, {1e-4, 5e-9, 3}, {2e-3, 1e-7, 2.37}, {1e-5, 1e-6, 1}, {1e-2, 1e-12, 5.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 4; n <= 5; n++) {
            struct fit f = fit_of(cases[i].a, cases[i].b, cases[i].p, n);
            near(f.p, cases[i].p, 1e-6);
            near(f.a, cases[i].a, 1e-4);
            near(f.b, cases[i].b, 1e-5);
            near(f.r2, 1, 1e-9);
            assert_int_equal(f.sizes, n);
            assert_null(f.reason);
        }
}

static void pure_powers_have_no_overhead(void **state)
{
    (void)state;
    struct fit f = fit_of(0, 3e-9, 4, 4);
    near(f.p, 4, 1e-6);
    near(f.b, 3e-9, 1e-5);
    assert_true(f.a >= 0 && f.a < 1e-9);
}

static void three_sizes_are_enough(void **state)
{
    (void)state;
    struct fit f = fit_of(1e-3, 2e-9, 4, 3);
    near(f.p, 4, 1e-5);
    assert_null(f.reason);
}

static void one_or_two_sizes_give_unknown(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++) {
        struct fit f = fit_of(1e-3, 2e-9, 4, n);
        assert_true(isnan(f.a) && isnan(f.b) && isnan(f.p) && isnan(f.r2));
        assert_non_null(f.reason);
        assert_int_equal(f.sizes, n);
    }
}

static void constant_times_do_not_grow(void **state)
{
    (void)state;
    const double t[] = {0.02, 0.02, 0.02, 0.02};
    struct fit f = fit_power(sizes, t, 4);
    near(f.a, 0.02, 1e-9);
    assert_true(f.b == 0);
    assert_true(isnan(f.p) && isnan(f.r2));
    assert_non_null(f.reason);
}

static void falling_times_do_not_grow(void **state)
{
    (void)state;
    const double t[] = {0.04, 0.03, 0.02};
    struct fit f = fit_power(sizes, t, 3);
    assert_true(f.a > 0.02 && f.a < 0.04);
    assert_true(f.b == 0 && isnan(f.p));
    assert_non_null(f.reason);
}

/* Deterministic 3 % errors: the exponent moves little, and neither coefficient turns negative. */
static void noise_moves_the_exponent_little(void **state)
{
    (void)state;
    const double wobble[] = {1.03, 0.97, 1.02, 0.98, 1.01};
    double t[5];
    for (int i = 0; i < 5; i++)
        t[i] = wobble[i] * (1e-4 + 2e-9 * pow(sizes[i], 3));
    struct fit f = fit_power(sizes, t, 5);
    assert_true(fabs(f.p - 3) < 0.1);
    assert_true(f.a >= 0 && f.b > 0);
    assert_true(f.r2 > 0.99 && f.r2 <= 1);
}

static void unequal_steps_and_odd_sizes(void **state)
{
    (void)state;
    const double odd[] = {31, 100, 257, 301};
    double t[4];
    for (int i = 0; i < 4; i++)
        t[i] = 5e-4 + 7e-10 * pow(odd[i], 3.5);
    near(fit_power(odd, t, 4).p, 3.5, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_what_made_the_times),
        cmocka_unit_test(pure_powers_have_no_overhead),
        cmocka_unit_test(three_sizes_are_enough),
        cmocka_unit_test(one_or_two_sizes_give_unknown),
        cmocka_unit_test(constant_times_do_not_grow),
        cmocka_unit_test(falling_times_do_not_grow),
        cmocka_unit_test(noise_moves_the_exponent_little),
        cmocka_unit_test(unequal_steps_and_odd_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
