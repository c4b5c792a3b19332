/* links: tp_stage tp_report tp_trace */
/* Tests what becomes of the time in which threads were ready for a CPU. */
#include <sys/syscall.h>

#include "tests/trace/run_case.h"

#define WITHIN 5 /* ms of 10000 */

static void thread_works(int thread, uint64_t from, uint64_t to, int line)
{
    uint64_t stack = stage_at(&st, AT(APP, line));
    for (uint64_t t = from + 10; t <= to; t += 10)
        stage_sample(&st, thread, t, stack, 10, TRACE_USER);
}

static void thread_waits(uint32_t tid, uint64_t end, int line, uint64_t length, int call)
{
    stage_wait_in(&st, tid, end, stage_at(&st, AT(APP, line)), length, TRACE_SLEEP, call);
}

/* Its last 200 ms seem asleep, after 700 ms in the run queue of a second: most of them were too. */
static void a_worker_that_waits_for_a_cpu_is_not_waited_for(void **state)
{
    (void)state;
    int a = stage_thread(&st, 101, "a", 0), lines = 0;
    thread_waits(100, 1000, 110, 1000, SYS_futex);
    stage_wait(&st, 101, 700, 0, 700, TRACE_RUNNABLE);
    thread_works(a, 700, 800, 130);
    thread_waits(101, 1000, 140, 200, SYS_futex);
    thread_waits(100, 10000, 190, 9000, SYS_clock_nanosleep);
    analyse();
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        if (o->line == 130)
            assert_near((double)o->path_cpu_ns, 100.0 * MS, WITHIN * MS);
        if (o->line == 110)
            assert_near((double)o->path_wait_ns, 60.0 * MS, WITHIN * MS);
        lines += o->line == 130 || o->line == 110;
    }
    assert_int_equal(lines, 2);
    assert_near(1e3 * m->totals.path_ready_s, 840, WITHIN);
}

/* 7 of 10 s: above a quarter. */
static void a_busy_machine_is_noted(void **state)
{
    (void)state;
    thread_works(0, 0, 3000, 120);
    stage_wait(&st, 100, 10000, 0, 7000, TRACE_RUNNABLE);
    analyse();
    const struct model_item *busy = stage_item(m, "cpu.busy");
    assert_non_null(busy);
    assert_string_equal(busy->text,
                        "The machine was busy: the program waited 7 of 10 s for a CPU.");
    assert_string_equal(busy->severity, "info");
}

static void threads_that_share_a_cpu_are_counted(void **state)
{
    (void)state;
    const struct analyze_options one = {.cpus = 1};
    int a = stage_thread(&st, 101, "a", 0), brief = stage_thread(&st, 102, "brief", 0);
    thread_works(0, 0, 3000, 120);
    stage_wait(&st, 100, 10000, 0, 7000, TRACE_RUNNABLE);
    thread_works(a, 3000, 9000, 130);
    thread_works(brief, 9000, 10000, 140);
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(&one);
    assert_non_null(stage_item(m, "cpu.busy"));
    assert_string_equal(
        stage_item(m, "cpu.busy")->text,
        "2 threads of the program share 1 CPU: the program waited 7 of 10 s for a CPU.");
}

/* A process of a program without own code, from `start` ms to `end` ms; what it waits for: `call`. */
static void child_of(int parent, int pid, uint64_t start, uint64_t end, int call)
{
    stage_open(&st, pid, T0 + start * MS);
    st.w.header->parent = parent;
    st.end = T0 + end * MS;
    stage_wait_in(&st, (uint32_t)pid, end, stage_at(&st, AT(LIBC, 1)), end - start, TRACE_SLEEP,
                  call);
    stage_close(&st, TRACE_EXIT, 0);
}

/* sh waits for one program and starts another then: while the first sleeps, that waits for nothing. */
static void a_program_that_starts_later_is_not_ready_for_a_cpu(void **state)
{
    (void)state;
    thread_waits(100, 10000, 110, 10000, SYS_wait4);
    stage_close(&st, TRACE_EXIT, 0);
    child_of(100, 101, 0, 10000, SYS_wait4);
    child_of(101, 102, 0, 9000, SYS_clock_nanosleep);
    child_of(101, 103, 9000, 10000, SYS_clock_nanosleep);
    m = stage_model(NULL);
    assert_true(stage_lawful(m));
    assert_near(1e3 * m->totals.path_ready_s, 0, WITHIN);
}

static void program_works(int thread, uint64_t from, uint64_t to)
{
    for (uint64_t t = from + 10; t <= to; t += 10)
        stage_sample(&st, thread, t, stage_at(&st, AT(LIBC, 1)), 10, TRACE_USER);
}

/* gzip computes for 4 of 10 s, in two threads by turns. It was in the run queue for 5 s; of 1 s nothing is
 * known, which is divided as the time around it. */
static void a_program_in_the_run_queue_is_not_waited_for(void **state)
{
    (void)state;
    stage_wait_in(&st, 100, 10000, stage_at(&st, AT(APP, 110)), 10000, TRACE_SLEEP, SYS_read);
    stage_close(&st, TRACE_EXIT, 0);
    stage_open(&st, 101, T0);
    st.w.header->parent = 100;
    stage_meta(&st, "exe", "/usr/bin/gzip");
    int other = stage_thread(&st, 102, "gzip", 0);
    program_works(0, 0, 2000);
    stage_wait(&st, 101, 7000, 0, 5000, TRACE_RUNNABLE);
    program_works(other, 8000, 10000);
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(NULL);
    assert_true(stage_lawful(m));
    double waits = 0;
    for (int i = 0; i < m->own_count; i++)
        waits += m->own[i].line == 110 ? (double)m->own[i].path_wait_ns / (double)MS : 0;
    assert_in_range((uint64_t)waits, 4000 - WITHIN, 4500 + WITHIN);
    assert_near(1e3 * m->totals.path_ready_s, 10000 - waits, WITHIN);
}

/* The child itself starts a second after its parent has begun to wait: a CPU was not free before. */
static void a_child_that_starts_late_had_no_cpu(void **state)
{
    (void)state;
    thread_waits(100, 10000, 110, 10000, SYS_wait4);
    stage_close(&st, TRACE_EXIT, 0);
    child_of(100, 101, 1000, 10000, SYS_clock_nanosleep);
    m = stage_model(NULL);
    assert_true(stage_lawful(m));
    assert_near(1e3 * m->totals.path_ready_s, 1000, 2 * WITHIN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
    const struct CMUnitTest tests[] = {
        TEST(a_worker_that_waits_for_a_cpu_is_not_waited_for),
        TEST(a_program_that_starts_later_is_not_ready_for_a_cpu),
        TEST(a_child_that_starts_late_had_no_cpu),
        TEST(a_program_in_the_run_queue_is_not_waited_for),
        TEST(a_busy_machine_is_noted),
        TEST(threads_that_share_a_cpu_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
