/* links: tp_suite */
#include "tests/unit/check.h"
#include "host/suite/run/cycles.h"

/* A counter that counts, or a reason why there is none: which one depends on the machine. */
static void counts_or_says_why_not(void **state)
{
    (void)state;
    struct cycles c;
    volatile double sum = 0;
    cycles_open(&c);
    double before = cycles_now(&c);
    for (int i = 0; i < 1000000; i++)
        sum += i;
    double after = cycles_now(&c);
    if (c.fd < 0) {
        assert_true(isnan(before) && isnan(after));
        assert_non_null(strstr(c.reason, "no cycle counter: "));
    } else {
        assert_string_equal(c.reason, "");
        assert_false(after - before < 1000000); /* an addition takes a cycle at least; or NAN */
    }
    cycles_close(&c);
    assert_true(isnan(cycles_now(&c)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_or_says_why_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
