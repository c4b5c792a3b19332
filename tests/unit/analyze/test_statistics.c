/* links: tp_analyze */
#include <stdio.h>

#include "tests/unit/check.h"
#include "profiler/analyze/build/stat.h"
#include "profiler/analyze/gpu/occupancy.h"
#include "base/table.h"
#include "profiler/analyze/common/track.h"

#define NEAR(a, b) assert_near(a, b, 1e-12 * fabs(b))

static void few_durations_have_exact_quantiles(void **state)
{
    (void)state;
    struct dist d = {0};
    const uint64_t v[] = {400, 100, 300, 200,
                          1500}; /* NumPy: median, percentile(95), std(ddof=1) */
    for (int i = 0; i < 5; i++)
        assert_ok(dist_add(&d, v[i]));
    struct model_stat s = stat_of(&d);
    NEAR(s.median_s, 300e-9);
    NEAR(s.p95_s, 1280e-9);
    NEAR(s.sd_s, 570.08771254956898e-9);
    NEAR(s.total_s, 2500e-9);
    assert_int_equal(s.n, 5);
    dist_free(&d);
}

static void many_durations_within_two_percent(void **state)
{
    (void)state;
    struct dist d = {0}, halves[2] = {{0}, {0}};
    for (uint64_t i = 1; i <= 100000; i++) {
        uint64_t v = i * i;
        assert_ok(dist_add(&d, v));
        assert_ok(dist_add(&halves[i % 2], v));
    }
    assert_near(dist_quantile(&d, 0.5), 2.5e9, 0.02 * 2.5e9);
    assert_near(dist_quantile(&d, 0.95), 9.025e9, 0.02 * 9.025e9);
    assert_int_equal(d.min, 1);
    assert_int_equal(d.max, 10000000000);
    assert_ok(dist_merge(&halves[0], &halves[1]));
    NEAR(stat_of(&halves[0]).median_s, stat_of(&d).median_s);
    assert_near(stat_of(&halves[0]).sd_s, stat_of(&d).sd_s, 1e-9 * stat_of(&d).sd_s);
    NEAR(halves[0].sum, d.sum);
    dist_free(&d);
    dist_free(&halves[0]);
    dist_free(&halves[1]);
}

static void no_duration_has_no_statistics(void **state)
{
    (void)state;
    struct dist d = {0};
    struct model_stat s = stat_of(&d);
    assert_true(isnan(s.median_s) && isnan(s.min_s) && isnan(s.sd_s));
    assert_int_equal(s.n, 0);
}

static void a_track_keeps_its_busy_time_within_its_limit(void **state)
{
    (void)state;
    struct track t = {0};
    uint64_t busy = 0, count = 0;
    for (uint64_t i = 0; i < 100000; i++)
        assert_ok(track_add(&t, 1000 * i, 1000 * i + 300 + i % 7, (uint32_t)(i % 3), 500));
    assert_in_range(t.count, 100, 750);
    assert_true(t.resolution > 0);
    for (size_t i = 0; i < t.count; i++) {
        busy += t.events[i].busy;
        count += t.events[i].count;
        assert_true(i == 0 || t.events[i].start >= t.events[i - 1].start);
    }
    assert_int_equal(count, 100000);
    assert_int_equal(busy, 100000 * 300ull + 299995);
    track_reduce(&t, 10);
    assert_in_range(t.count, 1, 10);
    track_free(&t);
}

static void events_of_a_track_stand_by_their_start(void **state)
{
    (void)state;
    struct track t = {0};
    assert_ok(track_add(&t, 10, 20, 1, 500));
    assert_ok(track_add(&t, 20, 25, 2, 500));
    assert_ok(track_add(&t, 5, 30, 3, 500)); /* the range around both, known when it ends */
    assert_ok(track_add(&t, 40, 41, 4, 500));
    const uint64_t starts[] = {5, 10, 20, 40}, whats[] = {3, 1, 2, 4};
    assert_int_equal(t.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(t.events[i].start, starts[i]);
        assert_int_equal(t.events[i].what, whats[i]);
        assert_int_equal(t.events[i].count, 1);
    }
    track_free(&t);
}

static void parts_of_one_event_become_one(void **state)
{
    (void)state;
    struct track t = {0};
    assert_ok(track_add(&t, 0, 250000000, 7, 500));
    assert_true(track_extend(&t, 250000500, 500000000, 7));
    assert_false(track_extend(&t, 500000000, 600000000, 8)); /* elsewhere */
    assert_false(track_extend(&t, 510000000, 600000000, 7)); /* it ran between them */
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].end, 500000000);
    assert_int_equal(t.events[0].busy, 499999500);
    assert_int_equal(t.events[0].largest, 499999500);
    assert_int_equal(t.events[0].count, 1);
    track_free(&t);
}

/* NVIDIA's occupancy calculator for compute capability 8.9. */
static void occupancy_names_its_limiter(void **state)
{
    (void)state;
    const struct trace_device d = {.major = 8,
                                   .minor = 9,
                                   .threads_per_sm = 1536,
                                   .blocks_per_sm = 24,
                                   .registers_per_sm = 65536,
                                   .shared_per_sm = 102400,
                                   .warp = 32};
    static const struct {
        uint64_t threads, shared;
        uint32_t registers;
        int blocks;
        const char *limiter;
    } cases[] = {{256, 0, 32, 6, "warps"},      {32, 0, 16, 24, "blocks"},
                 {256, 0, 64, 4, "registers"},  {256, 0, 255, 1, "registers"},
                 {128, 49152, 32, 2, "shared"}, {1024, 0, 32, 1, "warps"},
                 {64, 16384, 40, 5, "shared"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct occupancy o =
            occupancy_of(&d, cases[i].threads, cases[i].registers, cases[i].shared);
        assert_int_equal(o.blocks, cases[i].blocks);
        assert_string_equal(o.limiter, cases[i].limiter);
        NEAR(o.share, (double)(o.blocks * (int)cases[i].threads) / 1536);
    }
    assert_true(isnan(occupancy_of(&d, 0, 32, 0).share));
    assert_true(isnan(occupancy_of(&(struct trace_device){0}, 256, 32, 0).share));
}

static void a_table_forgets_what_was_removed(void **state)
{
    (void)state;
    struct table t = {0};
    for (uint32_t i = 0; i < 5000; i++)
        assert_ok(table_put(&t, i * 1000003ull, i));
    for (uint32_t i = 0; i < 5000; i += 2)
        table_remove(&t, i * 1000003ull);
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(table_get(&t, i * 1000003ull), i % 2 ? i : TABLE_NONE);
    assert_int_equal(t.count, 2500);
    table_free(&t);
}

static void equal_texts_are_kept_once(void **state)
{
    (void)state;
    struct arena *a;
    assert_ok(arena_create(&a));
    const char *one = arena_text(a, "projector"), *two = arena_text_n(a, "projector.c", 9);
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, arena_text(a, "projecto"));
    assert_string_equal(arena_text_n(a, "ab\0c", 4), "ab");
    assert_null(arena_text(a, NULL));
    char *large = arena_take(a, 1 << 20);
    assert_int_equal(large[(1 << 20) - 1], 0);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_durations_have_exact_quantiles),
        cmocka_unit_test(many_durations_within_two_percent),
        cmocka_unit_test(no_duration_has_no_statistics),
        cmocka_unit_test(a_track_keeps_its_busy_time_within_its_limit),
        cmocka_unit_test(events_of_a_track_stand_by_their_start),
        cmocka_unit_test(parts_of_one_event_become_one),
        cmocka_unit_test(occupancy_names_its_limiter),
        cmocka_unit_test(a_table_forgets_what_was_removed),
        cmocka_unit_test(equal_texts_are_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
