/* links: tp_analyze */
#include "tests/unit/check.h"
#include "profiler/analyze/common/live_heap.h"

#define MS 1000000ull

static void blocks_that_stand_for_themselves_count_at_once(void **state)
{
    (void)state;
    struct live_heap h = {0};
    live_heap_apply(&h, live_heap_block(4e6, 4e6, 1), 5 * MS);
    assert_near(h.peak, 4e6, 0);
    assert_near(live_heap_apply(&h, live_heap_block(4e6, 4e6, -1), 5 * MS), 4e6, 0);
    assert_near(h.live, 0, 0);
    assert_near(h.allocs + h.frees, 2, 0);
}

static void many_small_blocks_are_their_sum(void **state)
{
    (void)state;
    struct live_heap h = {0};
    for (uint64_t i = 0; i < 100; i++)
        live_heap_apply(&h, live_heap_block(5e5, 100, 1), i * MS);
    assert_near(h.peak, 5e7, 1);
    for (uint64_t i = 0; i < 100; i++)
        live_heap_apply(&h, live_heap_block(5e5, 100, -1), (100 + i) * MS);
    assert_near(h.live, 0, 0);
    assert_near(h.peak, 5e7, 1);
}

static void few_heavy_blocks_are_their_mean_over_time(void **state)
{
    (void)state;
    struct live_heap h = {0};
    for (uint64_t i = 1; i <= 1000; i++) { /* live for a hundredth of the time */
        live_heap_apply(&h, live_heap_block(1e7, 4000, 1), 100 * i * MS);
        live_heap_apply(&h, live_heap_block(1e7, 4000, -1), (100 * i + 1) * MS);
    }
    assert_near(h.integral / (double)(999 * 100 * MS), 1e5, 1e3);
    assert_true(h.peak >= 0.9e5 && h.peak < 2e5);
}

static void one_block_that_stays_is_known_after_a_while(void **state)
{
    (void)state;
    struct live_heap h = {0};
    live_heap_apply(&h, live_heap_block(5e5, 100, 1), 7 * MS);
    assert_near(h.peak, 100, 0); /* so much is certain */
    assert_near(live_heap_estimate(&h, 1000 * MS), 0.993 * 5e5, 1);
    assert_near(live_heap_apply(&h, live_heap_block(5e5, 100, -1), 1000 * MS), 0.993 * 5e5, 1);
    assert_near(h.peak, 0.993 * 5e5, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_stand_for_themselves_count_at_once),
        cmocka_unit_test(many_small_blocks_are_their_sum),
        cmocka_unit_test(few_heavy_blocks_are_their_mean_over_time),
        cmocka_unit_test(one_block_that_stays_is_known_after_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
