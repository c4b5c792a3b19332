/* links: tp_base */
/* Arrays: growing, orders for qsort, binary search. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "tests/unit/check.h"

struct row {
    int line;
    const char *name;
};

ARRAY_ORDER(by_place, struct row, COMPARE(x->line, y->line) ?: strcmp(x->name, y->name));

static void items_beyond_those_used_are_zero(void **state)
{
    VECTOR(int) v = {0};
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_ok(vector_add(&v, i));
    assert_int_equal(v.count, 100);
    for (size_t i = 0; i < v.room; i++)
        assert_int_equal(v.items[i], i < 100 ? (int)i : 0);
    assert_int_equal(vector_pop(&v), 99);
    vector_free(&v);
}

static void too_many_items_are_refused(void **state)
{
    VECTOR(int) v = {0};
    (void)state;
    assert_int_equal(vector_room(&v, SIZE_MAX / 2), ERR_MEMORY);
    assert_null(v.items);
    assert_int_equal(v.room, 0);
}

static void bound_is_the_first_item_that_is_not_before(void **state)
{
    const int items[] = {1, 3, 3, 3, 8};
    (void)state;
    for (int key = 0; key < 10; key++)
        for (size_t first = 0; first <= 5; first++)
            for (size_t end = first; end <= 5; end++) {
                size_t below = first, not_above = first;
                while (below < end && items[below] < key)
                    below++;
                while (not_above < end && items[not_above] <= key)
                    not_above++;
                assert_int_equal(ARRAY_BOUND(first, end, i, items[i] < key), below);
                assert_int_equal(ARRAY_BOUND(first, end, i, items[i] <= key), not_above);
            }
}

static void an_order_takes_the_first_key_that_differs(void **state)
{
    struct row rows[] = {{2, "b"}, {1, "z"}, {2, "a"}, {1, "a"}};
    (void)state;
    array_sort(rows, 4, sizeof *rows, by_place);
    assert_int_equal(rows[0].line, 1);
    assert_string_equal(rows[0].name, "a");
    assert_string_equal(rows[1].name, "z");
    assert_string_equal(rows[2].name, "a");
    assert_string_equal(rows[3].name, "b");
    array_sort(NULL, 0, sizeof *rows, by_place);
}

static void numbers_ascend(void **state)
{
    double a[] = {3, -INFINITY, 1e300, 0};
    float b[] = {2, -1, INFINITY};
    const double nan = NAN, one = 1;
    (void)state;
    array_sort(a, 4, sizeof *a, ascending_double);
    assert_true(a[0] < a[1] && a[1] < a[2] && a[2] < a[3]);
    array_sort(b, 3, sizeof *b, ascending_float);
    assert_true(b[0] < b[1] && b[1] < b[2]);
    assert_int_equal(ascending_double(&nan, &one), 0);
    assert_int_equal(ascending_double(&one, &nan), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_beyond_those_used_are_zero),
        cmocka_unit_test(too_many_items_are_refused),
        cmocka_unit_test(bound_is_the_first_item_that_is_not_before),
        cmocka_unit_test(an_order_takes_the_first_key_that_differs),
        cmocka_unit_test(numbers_ascend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
