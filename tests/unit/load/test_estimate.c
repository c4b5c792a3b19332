/* links: tp_load */
/* The time of the whole from a sample of chunks, whose truth is known. */
#include <math.h>
#include <stdlib.h>

#include "host/load/estimate.h"
#include "tests/unit/check.h"

enum { CHUNKS = 10, WHOLE = 100 };

static double seconds[CHUNKS];
static char first[CHUNKS];

/* Ten of 100 chunks of 10 ms of computing, two workers; the first chunk of each takes 90 ms more. */
static struct load_sample quiet_sample(void)
{
    for (int i = 0; i < CHUNKS; i++) {
        first[i] = i < 2;
        seconds[i] = first[i] ? 0.1 : 0.01;
    }
    return (struct load_sample){.seconds = seconds,
                                .first = first,
                                .count = CHUNKS,
                                .whole = WHOLE,
                                .workers = 2,
                                .processors = 2,
                                .read_s = 0.14,
                                .cpu_s = 0.28,
                                .once_s = 0.2};
}

static void assert_within(struct load_estimate e, double low, double high)
{
    if (!(e.mid >= low && e.mid <= high && e.low <= e.mid && e.mid <= e.high))
        fail_msg("%g s (%g to %g), expected %g to %g", e.mid, e.low, e.high, low, high);
}

/* 0.2 s of opening and memory, 0.09 s for the two first chunks, 100 chunks of 10 ms by two. */
static void what_comes_once_is_not_multiplied(void **state)
{
    (void)state;
    const struct load_sample s = quiet_sample();
    const struct load_estimate e = load_estimate_of(&s);
    assert_within(e, 0.78, 0.80);
    assert_true(e.high < 1.1 && e.low > 0.5);
}

/* The same beside other work, for which each second of CPU time waits for three. */
static void waits_for_a_cpu_lengthen_it(void **state)
{
    (void)state;
    struct load_sample s = quiet_sample();
    s.once_wait_s = 3 * s.once_s;
    s.wait_s = 3 * s.cpu_s;
    s.read_s *= 4;
    const struct load_estimate e = load_estimate_of(&s);
    assert_within(e, 4 * 0.78, 4 * 0.80);
    assert_true(e.low < 2 && e.high > 5); /* others may go, or come */
}

/* A sample that is too short to have met other work says that it may. */
static void others_that_run_count_where_little_was_read(void **state)
{
    (void)state;
    struct load_sample s = quiet_sample();
    s.running = 14;
    const double seen = load_estimate_of(&s).high;
    s.once_s = 0.001;
    s.cpu_s = s.read_s = 0;
    for (int i = 0; i < CHUNKS; i++) {
        seconds[i] /= 1000;
        s.cpu_s += seconds[i];
        s.read_s += seconds[i] / 2;
    }
    const struct load_estimate e = load_estimate_of(&s);
    assert_true(e.high > 8 * e.mid && seen < 2);
}

/* Waits for storage do not grow with the load; chunks that differ widen the interval. */
static void storage_and_spread(void **state)
{
    (void)state;
    struct load_sample s = quiet_sample();
    s.cpu_s = 0;
    const struct load_estimate e = load_estimate_of(&s);
    assert_within(e, 0.78, 0.80);
    assert_true(e.low < 0.45); /* read ahead */
    s = quiet_sample();
    const struct load_estimate narrow = load_estimate_of(&s);
    for (int i = 2; i < CHUNKS; i++)
        seconds[i] = i % 2 ? 0.004 : 0.016;
    const struct load_estimate wide = load_estimate_of(&s);
    assert_within(wide, 0.78, 0.80);
    assert_true(wide.high - wide.low > 1.2 * (narrow.high - narrow.low));
}

/* Reading far apart costs CPU time that neighbours do not: the interval reaches further down. */
static void chunks_from_storage_may_cost_less_beside_each_other(void **state)
{
    (void)state;
    struct load_sample s = quiet_sample();
    const struct load_estimate cached = load_estimate_of(&s);
    s.stored_s = 0.2;
    const struct load_estimate stored = load_estimate_of(&s);
    assert_true(stored.mid == cached.mid && stored.high == cached.high);
    assert_true(stored.low < cached.low - 0.05 && stored.low > 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_once_is_not_multiplied),
        cmocka_unit_test(waits_for_a_cpu_lengthen_it),
        cmocka_unit_test(others_that_run_count_where_little_was_read),
        cmocka_unit_test(storage_and_spread),
        cmocka_unit_test(chunks_from_storage_may_cost_less_beside_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
