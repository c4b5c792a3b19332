/* links: tp_triage */
/* Numbers as people say them. */
#include <math.h>

#include "profiler/triage/verdict/candidate.h"
#include "tests/unit/check.h"

static void numbers_take_the_prefix_of_their_size(void **state)
{
    (void)state;
    assert_string_equal(quantity(8.9e-7, "s"), "890 ns");
    assert_string_equal(quantity(0.99996, "s"), "1 s");
    assert_string_equal(quantity(0, "s"), "0 s");
    assert_string_equal(quantity(4.63e9, ""), "4.63 G");
    assert_string_equal(quantity(0.02, ""), "0.02");
    assert_string_equal(quantity((double)NAN, "s"), "-");
    assert_string_equal(quantity_number(1234.5), "1234");
    assert_string_equal(quantity_number((double)INFINITY), "-");
}

static void ranges_share_a_prefix_and_have_two_digits(void **state)
{
    (void)state;
    assert_string_equal(quantity_bounds(bounds_of(8.93e-7, 1.9e-6), "s"), "0.89 to 1.9 us");
    assert_string_equal(quantity_bounds(bounds_of(1e-6, 2e-2), "s"), "1 us to 20 ms");
    assert_string_equal(quantity_bounds(bounds_of(2, 2), "J"), "2 J");
    assert_string_equal(quantity_bounds(bounds_of(0, 2e-3), "s"), "0 to 2 ms");
    assert_string_equal(quantity_bounds(bounds_of(2.24e10, 3.5e10), ""), "22 to 35 G");
    assert_string_equal(quantity_bounds(bounds_of(0.1, 7), ""), "0.1 to 7");
    assert_string_equal(quantity_bounds(bounds_of(3, (double)NAN), "s"), "3 s");
    assert_string_equal(quantity_bounds(bounds_of((double)NAN, (double)NAN), "s"), "-");
    assert_string_equal(quantity_plain_bounds(bounds_of(48.3, 1034.4)), "48 to 1034");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_take_the_prefix_of_their_size),
        cmocka_unit_test(ranges_share_a_prefix_and_have_two_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
