/* links: tp_stage tp_report tp_trace */
/* Tests that the recorder's own cost adds up from its parts: what its functions counted, what the
 * kernel counted of its threads, and numbers times prices. */
#include "tests/trace/run_case.h"

#define LINE 120

static void account_put(uint64_t ms, uint32_t at, uint64_t cpu_ms)
{
    struct trace_account a = {
        .r = {.kind = TRACE_ACCOUNT, .time_ns = T0 + ms * MS}, .user_ns = cpu_ms * MS, .at = at};
    stage_put(&st, 0, &a);
}

static void cost_put(uint32_t tid, uint32_t part, uint64_t ns, uint64_t calls)
{
    struct trace_cost c = {.r = {.kind = TRACE_COST, .time_ns = T0 + 900 * MS},
                           .tid = tid,
                           .part = part,
                           .ns = ns,
                           .calls = calls};
    stage_put(&st, 0, &c);
}

static const struct model_cost *cost_row(const char *part)
{
    for (int i = 0; i < m->quality.overhead_count; i++)
        if (!strcmp(m->quality.overhead[i].part, part))
            return &m->quality.overhead[i];
    fail_msg("no row \"%s\"", part);
    return NULL;
}

static void assert_cost(const char *part, double ms, int64_t calls)
{
    assert_near(1e3 * cost_row(part)->s, ms, 1e-6);
    assert_int_equal(cost_row(part)->calls, calls);
}

static void assert_sum(double cpu_s)
{
    double sum = 0;
    for (int i = 0; i < m->quality.overhead_count; i++)
        sum += m->quality.overhead[i].s;
    assert_near(m->totals.cpu.user + m->totals.cpu.sys, cpu_s, 1e-9);
    assert_near(m->quality.overhead_share, sum / cpu_s, 1e-12);
}

/* The recorder's thread took 30 ms by the kernel, 500 by a clock that went on while others had its
 * CPU. */
static void main_process(void)
{
    const uint64_t stack = stage_at(&st, AT(APP, LINE));
    stage_thread(&st, 101, "tomoprof", 2);
    for (uint64_t t = 10; t <= 1000; t += 10)
        stage_sample(&st, 0, t, stack, 10, TRACE_USER);
    cost_put(100, TRACE_PART_SAMPLER, 1 * MS, 50); /* the last one of a thread counts */
    cost_put(100, TRACE_PART_SAMPLER, 2 * MS, 100);
    cost_put(100, TRACE_PART_SAMPLER, 1.5 * MS, 80); /* as the library's thread saw it before */
    cost_put(100, TRACE_PART_MALLOC_CALLS, 3 * MS, 1000000);
    cost_put(101, TRACE_PART_WAIT, 500 * MS, 20);
    struct trace_thread_end e = {.r = {.kind = TRACE_THREAD_END, .time_ns = T0 + 950 * MS},
                                 .tid = 101,
                                 .user_ns = 10 * MS,
                                 .system_ns = 20 * MS};
    stage_put(&st, 0, &e);
    account_put(1, TRACE_AT_LOAD, 5);
    account_put(2, TRACE_AT_START, 9); /* 4 ms to set up */
    stage_close(&st, TRACE_EXIT, 0);
}

static void parts_add_up(void **state)
{
    (void)state;
    main_process();
    stage_open(&st, 200, T0 + 100 * MS); /* a fork: nobody measured what it took */
    account_put(100, TRACE_AT_START, 1);
    stage_close(&st, TRACE_EXIT, 0);
    stage_open(&st, 300, T0 + 200 * MS); /* a short program, which took more than it could see */
    account_put(200, TRACE_AT_LOAD, 1);
    account_put(201, TRACE_AT_START, 2);
    stage_close(&st, TRACE_EXIT, 0);
    stage_open(&st, 400, T0 + 300 * MS); /* killed: its own thread was counted by itself alone */
    stage_thread(&st, 401, "tomoprof", 2);
    cost_put(401, TRACE_PART_WAIT, 6 * MS, 3);
    cost_put(400, TRACE_PART_WAKE, 1 * MS, 1);
    account_put(300, TRACE_AT_LOAD, 1);
    account_put(301, TRACE_AT_START, 3);
    stage_close(&st, TRACE_RUNNING, 0);
    const struct analyze_options priced = {
        .launch = {.fork_s = 0.5e-3, .load_s = 1.5e-3, .signal_s = 2e-6}};
    m = stage_model(&priced);
    assert_cost("sampler", 2, 100);
    assert_cost("malloc calls", 3, 1000000);
    assert_cost("own threads", 30 + 6, 20 + 3);
    assert_cost("wake", 1, 1);
    assert_cost("signals", 0.2, 100);
    assert_cost("processes", 4 + 0.5 + 1.5 + 2, 4);
    assert_sum(1 + 0.005 + 0.004 + 0.001 + 0.001 + 0.001 + 0.001 + 0.002);
}

static void without_prices_what_was_measured_counts(void **state)
{
    (void)state;
    main_process();
    m = stage_model(NULL);
    assert_cost("signals", 0, 100);
    assert_cost("processes", 4, 1);
    assert_sum(1 + 0.005 + 0.004);
}

static void the_program_that_was_started_has_its_own_price(void **state)
{
    (void)state;
    main_process();
    stage_open(&st, 300, T0 + 200 * MS); /* a child, which slept */
    account_put(200, TRACE_AT_LOAD, 1);
    account_put(201, TRACE_AT_START, 2);
    stage_close(&st, TRACE_EXIT, 0);
    const struct analyze_options priced = {
        .launch = {.pid = 100, .load_s = 1.5e-3, .start_s = 6e-3}}; /* it measured 4 of these */
    m = stage_model(&priced);
    assert_cost("processes", 6 + 1.5, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
    const struct CMUnitTest tests[] = {
        TEST(parts_add_up),
        TEST(without_prices_what_was_measured_counts),
        TEST(the_program_that_was_started_has_its_own_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
