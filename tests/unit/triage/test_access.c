/* links: tp_triage */
/* Access patterns and reuse distances of loops whose accesses can be counted by hand. */
#include "tests/unit/check.h"
#include "profiler/triage/triage.h"

static void access_patterns_are_what_the_loops_do(void **state)
{
    static const enum access_pattern expected[ACCESS_TRACES] = {
        PATTERN_SCATTER, PATTERN_GATHER, PATTERN_SCATTER, PATTERN_GATHER,
        PATTERN_STREAM,  PATTERN_WINDOW, PATTERN_SCATTER, PATTERN_SCATTER,
        PATTERN_STREAM,  PATTERN_STREAM, PATTERN_WINDOW};
    (void)state;
    for (int i = 0; i < ACCESS_TRACES; i++) {
        struct access_pair a;
        assert_int_equal(access_pair_measure((enum access_trace)i, &a), ERR_OK);
        assert_string_equal(pattern_name(a.pattern), pattern_name(expected[i]));
        double sum = 0;
        for (int k = 0; k < ACCESS_BUCKETS; k++)
            sum += a.large.reuse[k];
        assert_near(sum, i != ACCESS_COPY, 1e-9); /* a copy uses nothing again */
        assert_true(a.large.reads + a.large.writes == a.large.accesses);
        assert_true(access_window_at(&a, 256) >= a.large.window);
    }
}

/* Flat and dark cells come again after a frame: n^2 cells of 4 elements. */
static void reuse_distances_are_exact(void **state)
{
    struct access a;
    (void)state;
    assert_int_equal(access_measure(ACCESS_CORRECT, 12, &a), ERR_OK);
    assert_true(a.accesses == 4 * 12 * 12 * 6);
    assert_true(a.distinct == 2 * 12 * 12 * 6 + 2 * 12 * 12);
    assert_near(a.reuse_share, 2.0 * 12 * 12 * 5 / a.accesses, 1e-12);
    assert_true(fabs(a.window - 4 * 12 * 12) <= 4);
    assert_int_equal(access_measure(ACCESS_MEDIAN, 12, &a), ERR_OK);
    assert_true(a.reads == 27.0 * 12 * 12 * 12 && a.distinct == 2.0 * 12 * 12 * 12);
    assert_int_equal(access_measure(ACCESS_MEDIAN, 3, &a), ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_patterns_are_what_the_loops_do),
        cmocka_unit_test(reuse_distances_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
