/* links: tp_stage tp_analyze tp_trace */
/* The clock of a GPU: aligned with the host's, or said to be unknown. */
#include <stdio.h>

#include "tests/trace/gpu_case.h"

static void the_clock_of_the_device_is_aligned(void **state)
{
    (void)state;
    const uint64_t ahead = 5000000000ull;
    stage_close(&st, TRACE_EXIT, 0);
    stage_open(&st, 200, T0);
    at120 = stage_at(&st, AT(APP, 120));
    launch(10, at120, 1);
    struct trace_kernel k = stage_kernel(&st, 20, 30, "a", 1);
    k.start += ahead + 500; /* it drifts by 1 us in 40 ms */
    k.end += ahead + 750;
    stage_put(&st, 0, &k);
    for (uint64_t i = 0; i < 2; i++) {
        struct trace_clock c = {.r = {.kind = TRACE_CLOCK, .time_ns = T0 + i * 40 * MS},
                                .cupti_ns = T0 + i * 40 * MS + ahead + i * 1000,
                                .bracket_ns = 200};
        stage_put(&st, 0, &c);
    }
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(NULL);
    assert_near(m->kernels[0].time.total_s, 0.010, 5e-9);
    assert_string_equal(m->quality.clock_method, "interpolated");
    NEAR(m->quality.clock_error_ns, 100);
    for (int i = 0; i < m->timeline_count; i++)
        if (!strcmp(m->timeline[i].kind, "kernel"))
            assert_near(m->timeline[i].events[0].start, 20.0 * MS, 5);
    assert_null(stage_item(m, "gpu.before_call"));
}

static void a_clock_that_nothing_relates_is_said(void **state)
{
    (void)state;
    stage_meta(&st, "cupti.clock", "realtime");
    launch(10, at120, 1);
    kernel(12, 13, "a", 1);
    analyse();
    assert_string_equal(m->quality.clock_method, "none");
    assert_int_equal(stage_item(m, "gpu.no_clock")->count, 1);
}

static void a_kernel_before_its_call_is_said(void **state)
{
    (void)state;
    launch(10, at120, 1);
    kernel(9, 12, "a", 1);
    analyse();
    assert_int_equal(stage_item(m, "gpu.before_call")->count, 1);
    NEAR(stage_line(m, APP_C, 120)->gpu_self_s, 0.003);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, before_gpu, after)
    const struct CMUnitTest tests[] = {
        CASE(the_clock_of_the_device_is_aligned),
        CASE(a_clock_that_nothing_relates_is_said),
        CASE(a_kernel_before_its_call_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
