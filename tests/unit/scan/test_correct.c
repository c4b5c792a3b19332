/* links: tp_scan */
#include "host/scan/projections.h"
#include "tests/unit/check.h"

static void test_transmission(void **state)
{
    (void)state;
    const float white[4] = {110, 110, 10, 110}, dark[4] = {10, 10, 10, 10};
    float y[8] = {60, 10, 60, -40, 110, 210, 10, NAN};
    correct_transmission(y, 2, 4, white, dark);
    assert_near(y[0], log(2), 1e-6);
    assert_true(isnan(y[1]));        /* no counts: -log 0 */
    assert_true(isnan(y[2]));        /* white equals dark */
    assert_near(y[3], log(2), 1e-6); /* |I - D| as MBIRJAX has it */
    assert_near(y[4], 0, 1e-6);
    assert_near(y[5], -log(2), 1e-6);
    assert_true(isnan(y[6]) && isnan(y[7]));
}

static void test_single_defect(void **state)
{
    (void)state;
    float y[2 * 9] = {1, 2, 3, 4, NAN, 6, 7, 80, 9, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    int64_t n;
    assert_ok(correct_repair(y, 2, 3, 3, &n));
    assert_int_equal(n, 1);
    assert_near(y[4], 5, 0); /* median of 1 2 3 4 6 7 9 80 */
    y[0] = NAN;
    assert_ok(correct_repair(y, 1, 3, 3, &n));
    assert_near(y[0], 4, 0); /* a corner: median of 2 4 5 */
}

/* A block of 5 x 5 closes ring by ring: the outer ring takes the constant around it, then the inner
 * ones. */
static void test_cluster(void **state)
{
    (void)state;
    enum { N = 11 };
    float y[N * N];
    int64_t n;
    for (int i = 0; i < N * N; i++) {
        int m = i / N, c = i % N;
        y[i] = m > 2 && m < 8 && c > 2 && c < 8 ? NAN : 3;
    }
    assert_ok(correct_repair(y, 1, N, N, &n));
    assert_int_equal(n, 25);
    for (int i = 0; i < N * N; i++)
        assert_near(y[i], 3, 0);
}

/* A valid sample spreads over a whole row; rings do not depend on the order of the samples. */
static void test_spreads(void **state)
{
    (void)state;
    float y[2 * 100];
    int64_t n;
    for (int i = 0; i < 200; i++)
        y[i] = NAN;
    y[37] = 7;
    y[100] = 1;
    y[199] = 2;
    assert_ok(correct_repair(y, 2, 1, 100, &n));
    assert_int_equal(n, 197);
    assert_true(y[0] == 7 && y[99] == 7);
    for (int i = 0; i < 50; i++)
        assert_true(y[100 + i] == 1 && y[199 - i] == 2);
}

static void test_dead_view(void **state)
{
    (void)state;
    float y[8] = {1, 1, 1, NAN, NAN, NAN, NAN, NAN};
    int64_t n;
    assert_error(correct_repair(y, 2, 2, 2, &n), ERR_INPUT, "view 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transmission), cmocka_unit_test(test_single_defect),
        cmocka_unit_test(test_cluster),      cmocka_unit_test(test_spreads),
        cmocka_unit_test(test_dead_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
