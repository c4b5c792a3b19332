/* links: tp_suite */
#include "tests/unit/check.h"
#include "host/suite/run/results.h"
#include "host/suite/statistics/stats.h"

#define NEAR(a, b) assert_near(a, b, 1e-12 * fabs(b))

static void known_numbers(void **state)
{
    (void)state;
    /* NumPy: median, mean, percentile(95), std(ddof=1) / mean of these five. */
    const double t[] = {0.4, 0.1, 0.3, 0.2, 1.5};
    struct statistics s = statistics_of(t, 5);
    assert_int_equal(s.n, 5);
    NEAR(s.min, 0.1);
    NEAR(s.median, 0.3);
    NEAR(s.mean, 0.5);
    NEAR(s.p95, 1.28);
    NEAR(s.cv, 1.1401754250991380);
}

static void even_count_takes_the_middle_of_two(void **state)
{
    (void)state;
    const double t[] = {4, 1, 2, 3};
    struct statistics s = statistics_of(t, 4);
    NEAR(s.median, 2.5);
    NEAR(s.p95, 3.85);
}

static void one_value_has_no_spread(void **state)
{
    (void)state;
    const double t[] = {0.25};
    struct statistics s = statistics_of(t, 1);
    assert_int_equal(s.n, 1);
    NEAR(s.min, 0.25);
    NEAR(s.median, 0.25);
    NEAR(s.mean, 0.25);
    NEAR(s.p95, 0.25);
    assert_true(isnan(s.cv));
}

static void nothing_is_unknown_and_not_zero(void **state)
{
    (void)state;
    struct statistics s = statistics_of(NULL, 0);
    assert_int_equal(s.n, 0);
    assert_true(isnan(s.min) && isnan(s.median) && isnan(s.mean) && isnan(s.p95) && isnan(s.cv));
}

static void the_input_is_left_alone(void **state)
{
    (void)state;
    const double t[] = {3, 1, 2};
    statistics_of(t, 3);
    assert_true(t[0] == 3 && t[1] == 1 && t[2] == 2);
}

static void rates_are_amounts_over_time(void **state)
{
    (void)state;
    struct work w = {4e9, 1e9, 8e9};
    struct peak peak = {100e9, 10e9};
    struct rates r = rates_of(0.5, &w, 3e9, &peak);
    NEAR(r.gflops, 8.0);
    NEAR(r.gbytes_per_s, 2.0);
    NEAR(r.updates_per_s, 6e9);
    NEAR(r.roof_share, 0.2); /* bytes: 2 of 10; arithmetic: 8 of 100 */
    assert_false(r.implausible);
}

static void arithmetic_share_when_it_is_the_larger(void **state)
{
    (void)state;
    struct work w = {40e9, 1e9, 0};
    struct peak peak = {100e9, 10e9};
    NEAR(rates_of(0.5, &w, 0, &peak).roof_share, 0.8);
}

static void above_the_peak_is_implausible(void **state)
{
    (void)state;
    struct peak peak = {100e9, 10e9};
    struct work just = {104e9, 0, 0}, over = {106e9, 0, 0}, bytes = {1e9, 10.6e9, 0};
    assert_false(rates_of(1, &just, 0, &peak).implausible);
    assert_true(rates_of(1, &over, 0, &peak).implausible);
    assert_true(rates_of(1, &bytes, 0, &peak).implausible);
}

static void unknown_work_or_peak_stays_unknown(void **state)
{
    (void)state;
    struct work none = {0, 0, 0}, some = {1e9, 1e9, 0};
    struct peak peak = {100e9, 10e9}, no_peak = {0, 0}, half = {0, 10e9};
    struct rates r = rates_of(1, &none, 0, &peak);
    assert_true(isnan(r.gflops) && isnan(r.gbytes_per_s) && isnan(r.roof_share) &&
                isnan(r.updates_per_s));
    assert_false(r.implausible);
    assert_true(isnan(rates_of(1, &some, 0, &no_peak).roof_share));
    NEAR(rates_of(1, &some, 0, &half).roof_share, 0.1);
    assert_true(isnan(rates_of((double)NAN, &some, 1, &peak).gflops));
}

/* A flip of 128^3 at 134 GB/s: copies of its size were disturbed, those between its runs were not.
 */
static void a_disturbed_copy_is_not_the_ceiling(void **state)
{
    (void)state;
    const struct work flip = {.bytes_min = 134e9};
    struct calibration c = {{489e9, 58.5e9}, 22.8e9, 129e9, 0};
    struct peak peak = calibration_ceiling(&c);
    NEAR(peak.flops_per_s, 489e9);
    NEAR(peak.bytes_per_s, 129e9);
    assert_false(rates_of(1, &flip, 0, &peak).implausible);
    c.like_runs_bytes_per_s = 0; /* not measured */
    peak = calibration_ceiling(&c);
    NEAR(peak.bytes_per_s, 58.5e9);
    assert_true(rates_of(1, &flip, 0, &peak).implausible);
    c.cached_bytes_per_s = 200e9;
    NEAR(calibration_ceiling(&c).bytes_per_s, 200e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(even_count_takes_the_middle_of_two),
        cmocka_unit_test(one_value_has_no_spread),
        cmocka_unit_test(nothing_is_unknown_and_not_zero),
        cmocka_unit_test(the_input_is_left_alone),
        cmocka_unit_test(rates_are_amounts_over_time),
        cmocka_unit_test(arithmetic_share_when_it_is_the_larger),
        cmocka_unit_test(above_the_peak_is_implausible),
        cmocka_unit_test(unknown_work_or_peak_stays_unknown),
        cmocka_unit_test(a_disturbed_copy_is_not_the_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
