/* links: tp_stage tp_report tp_trace */
#include <string.h>
#include <sys/syscall.h>

#include "tests/trace/run_case.h"

/* Merges all nodes of a line; kind "code". */
static struct model_own own_line(const char *file, int line)
{
    struct model_own sum = {0};
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        if (!o->file || strcmp(o->file, file) || o->line != line)
            continue;
        sum.cpu_ns += o->cpu_ns;
        sum.path_cpu_ns += o->path_cpu_ns;
        sum.path_wait_ns += o->path_wait_ns;
        sum.waits_for = o->waits_for ? o->waits_for : sum.waits_for;
    }
    return sum;
}

static double ms(int64_t ns)
{
    return (double)ns / (double)MS;
}

#define APP_C  "/src/app.c"
#define WITHIN 5 /* ms of 10000: the path is looked at in 16384 moments */
#define SLEEPS(tid, end, line, length)                                                             \
    stage_wait_in(&st, tid, end, stage_at(&st, AT(APP, line)), length, TRACE_SLEEP,                \
                  SYS_clock_nanosleep)
#define LOCKED(tid, end, line, length)                                                             \
    stage_wait_in(&st, tid, end, stage_at(&st, AT(APP, line)), length, TRACE_SLEEP, SYS_futex)

static void works(int thread, uint64_t from, uint64_t to, int line)
{
    uint64_t stack = stage_at(&st, AT(APP, line));
    for (uint64_t t = from + 10; t <= to; t += 10)
        stage_sample(&st, thread, t, stack, 10, TRACE_USER);
}

/* From 400 ms on it works itself. A thread that beats the time has no part. */
static void who_sleeps_hands_its_time_to_who_works_meanwhile(void **state)
{
    (void)state;
    int a = stage_thread(&st, 101, "a", 0), b = stage_thread(&st, 102, "b", 0);
    SLEEPS(100, 700, 110, 700);
    works(0, 700, 1000, 120);
    SLEEPS(100, 10000, 190, 9000);
    works(a, 0, 400, 130);
    SLEEPS(102, 980, 140, 980);
    works(b, 980, 1000, 150);
    SLEEPS(102, 10000, 140, 9000);
    analyse();
    assert_near(ms(own_line(APP_C, 130).path_cpu_ns), 400, WITHIN);
    assert_near(ms(own_line(APP_C, 110).path_wait_ns), 300, WITHIN);
    assert_string_equal(own_line(APP_C, 110).waits_for, "sleep");
    assert_near(ms(own_line(APP_C, 120).path_cpu_ns), 300, WITHIN);
    assert_near(ms(own_line(APP_C, 140).path_wait_ns), 0, WITHIN);
    assert_near(ms(own_line(APP_C, 150).path_cpu_ns), 0, WITHIN);
}

static void who_waits_for_a_child_waits_for_that(void **state)
{
    static const int calls[] = {SYS_wait4, SYS_waitid, SYS_clone, SYS_clone3};
    (void)state;
    for (int i = 0; i < 4; i++)
        stage_wait_in(&st, 100, 200 * ((uint64_t)i + 1), stage_at(&st, AT(APP, 110 + i)), 200,
                      i < 2 ? TRACE_SLEEP : TRACE_DISK, calls[i]);
    works(0, 800, 1000, 120);
    analyse();
    for (int i = 0; i < 4; i++) {
        assert_near(ms(own_line(APP_C, 110 + i).path_wait_ns), 200, WITHIN);
        assert_string_equal(own_line(APP_C, 110 + i).waits_for, "child");
    }
}

static void who_joins_hands_its_time_to_the_workers(void **state)
{
    (void)state;
    int a = stage_thread(&st, 101, "a", 0), b = stage_thread(&st, 102, "b", 0);
    LOCKED(100, 1000, 110, 1000);
    /* each sleeps 600 ms of 1000 and works for the rest, one behind the other */
    SLEEPS(101, 600, 120, 600);
    works(a, 600, 1000, 130);
    works(b, 0, 400, 130);
    SLEEPS(102, 1000, 120, 600);
    /* one of a pool that nobody needs */
    stage_thread(&st, 103, "pool", 0);
    LOCKED(103, 1000, 140, 1000);
    /* one that beats the time */
    stage_thread(&st, 104, "clock", 0);
    SLEEPS(104, 1000, 150, 1000);
    analyse();
    assert_near(ms(own_line(APP_C, 120).path_wait_ns), 600, WITHIN);
    assert_near(ms(own_line(APP_C, 130).path_cpu_ns), 400, WITHIN);
    assert_near(ms(own_line(APP_C, 110).path_wait_ns), 0, WITHIN);
    assert_near(ms(own_line(APP_C, 140).path_wait_ns), 0, WITHIN);
    assert_near(ms(own_line(APP_C, 150).path_wait_ns), 0, WITHIN);
}

/* CPU time of the workers below a line. */
static double of_workers(int line)
{
    double sum = 0;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i], *up = o->parent >= 0 ? &m->own[o->parent] : NULL;
        if (!strcmp(o->kind, "workers") && up &&
            (line ? up->file && up->line == line : !strcmp(up->kind, "run")))
            sum += ms(o->cpu_ns);
    }
    return sum;
}

/* A thread without own code, like zarr's event loop, works for one line after the other, then for
 * none. What it did is divided likewise. */
static void work_of_a_library_s_thread_is_divided_between_the_lines_that_wait(void **state)
{
    (void)state;
    int loop = stage_thread(&st, 101, "loop", 0);
    uint64_t stack = stage_at(&st, AT(NATIVE_LIB, 5));
    for (uint64_t t = 10; t <= 1000; t += 10)
        stage_sample(&st, loop, t, stack, 10, TRACE_USER);
    LOCKED(100, 200, 110, 200);
    LOCKED(100, 800, 120, 600);
    works(0, 800, 1000, 130);
    analyse();
    assert_near(of_workers(110), 200, WITHIN);
    assert_near(of_workers(120), 600, WITHIN);
    assert_near(of_workers(130), 0, WITHIN);
    assert_near(of_workers(0), 200, WITHIN);
    assert_near(ms(own_line(APP_C, 110).cpu_ns), 0, 1e-9);
    assert_near(ms(own_line(APP_C, 130).cpu_ns), 200, WITHIN);
}

/* The main thread joins others that wait for a library's thread: theirs is the line. Where they wait
 * at different lines, it is the main thread's. */
static void work_of_a_library_s_thread_belongs_to_the_thread_that_waits_for_it(void **state)
{
    (void)state;
    int loop = stage_thread(&st, 101, "loop", 0);
    uint64_t stack = stage_at(&st, AT(NATIVE_LIB, 5));
    for (uint64_t t = 10; t <= 1000; t += 10)
        stage_sample(&st, loop, t, stack, 10, TRACE_USER);
    stage_thread(&st, 102, "a", 0);
    stage_thread(&st, 103, "b", 0);
    LOCKED(100, 1000, 110, 1000);
    LOCKED(102, 600, 120, 600);
    LOCKED(103, 600, 120, 600);
    LOCKED(102, 1000, 130, 400);
    LOCKED(103, 1000, 140, 400);
    analyse();
    assert_near(of_workers(120), 600, WITHIN);
    assert_near(of_workers(110), 400, WITHIN);
    assert_near(of_workers(130) + of_workers(140), 0, WITHIN);
}

/* A worker is ready for a CPU for 600 of the 1000 ms for which the main thread joins it: no line
 * has these. Part of them come after a sleep, at the sleep's place. */
static void ready_for_a_cpu_is_nobodys(void **state)
{
    (void)state;
    int a = stage_thread(&st, 101, "a", 0);
    LOCKED(100, 1000, 110, 1000);
    works(a, 0, 200, 120);
    stage_wait(&st, 101, 700, 0, 500, TRACE_RUNNABLE);
    SLEEPS(101, 800, 130, 100);
    stage_wait(&st, 101, 900, stage_at(&st, AT(APP, 130)), 100, TRACE_RUNNABLE);
    works(a, 900, 1000, 120);
    SLEEPS(100, 10000, 190, 9000);
    analyse();
    assert_near(ms(own_line(APP_C, 110).path_wait_ns), 0, WITHIN);
    assert_near(ms(own_line(APP_C, 120).path_cpu_ns), 300, WITHIN);
    assert_near(ms(own_line(APP_C, 130).path_wait_ns), 100, WITHIN);
    assert_near(1e3 * m->totals.path_ready_s, 600, WITHIN);
    assert_null(stage_item(m, "cpu.busy"));
}

static void a_computing_thread_that_is_ready_does_not_compute(void **state)
{
    (void)state;
    works(0, 0, 200, 120);
    stage_wait(&st, 100, 900, 0, 700, TRACE_RUNNABLE); /* no stack: it was not asked */
    works(0, 900, 1000, 130);
    SLEEPS(100, 10000, 190, 9000);
    analyse();
    assert_near(ms(own_line(APP_C, 120).path_cpu_ns), 200, WITHIN);
    assert_near(ms(own_line(APP_C, 130).path_cpu_ns), 100, WITHIN);
    assert_near(1e3 * m->totals.path_ready_s, 700, WITHIN);
}

/* 10 ms of each 20 on a CPU, the waits in between told as 25 ms of each 50: half of the time is
 * each. What is told overlaps, and where nothing is told the thread computes: 375 ms, and 250 if a
 * moment had only one of both. */
static void who_computes_and_waits_in_turns_does_both(void **state)
{
    (void)state;
    uint64_t stack = stage_at(&st, AT(APP, 120));
    for (uint64_t t = 20; t <= 1000; t += 20)
        stage_sample(&st, 0, t, stack, 10, TRACE_USER);
    for (uint64_t t = 50; t <= 1000; t += 50)
        stage_wait_in(&st, 100, t, stage_at(&st, AT(APP, 110)), 25, TRACE_DISK, SYS_fdatasync);
    SLEEPS(100, 10000, 190, 9000);
    analyse();
    assert_near(ms(own_line(APP_C, 110).path_wait_ns), 420, 80);
    assert_near(ms(own_line(APP_C, 120).path_cpu_ns) + ms(own_line(APP_C, 110).path_wait_ns), 1000,
                20);
    assert_string_equal(own_line(APP_C, 110).waits_for, "io");
}

static uint64_t python(const char *const *files, const int *lines, int n)
{
    uint64_t words[1 + 2 * 8] = {AT(EVAL, 1)};
    for (int i = 0; i < n; i++) {
        words[1 + 2 * i] = (uint64_t)lines[i] | (i == n - 1 ? TRACE_PYTHON_ENTRY : 0);
        words[2 + 2 * i] = stage_code(&st, files[i], "f", 1);
    }
    return stage_stack(&st, words, 1, n);
}

static void own_is_what_lies_beside_the_program(void **state)
{
    (void)state;
    static const char *const call[] = {"/home/x/venv/lib/python3.11/site-packages/pkg/core.py",
                                       "/home/x/work/app.py"},
                             *const helper[] = {"/home/x/shared/helper.py", "/home/x/work/app.py"},
                             *const import[] = {"<frozen importlib._bootstrap>",
                                                "/home/x/work/app.py"},
                             *const module[] = {"/home/x/work/other.py",
                                                "<frozen importlib._bootstrap>",
                                                "/home/x/work/app.py"},
                             *const starter[] = {"/usr/lib/python3.11/runpy.py",
                                                 "/home/x/venv/bin/pytest"};
    static const int in_call[] = {77, 5}, in_helper[] = {3, 6}, in_import[] = {1000, 1},
                     in_module[] = {9, 1000, 2}, in_starter[] = {88, 8};
    stage_meta(&st, "exe", "/usr/bin/python3.11");
    stage_meta(&st, "cwd", "/home/x/work");
    stage_meta(&st, "cmdline", "python3\napp.py");
    stage_meta(&st, "python", "3.11.2");
    stage_sample(&st, 0, 100, python(call, in_call, 2), 100, TRACE_USER);
    stage_sample(&st, 0, 150, python(helper, in_helper, 2), 50, TRACE_USER);
    stage_sample(&st, 0, 170, python(import, in_import, 2), 20, TRACE_USER);
    stage_sample(&st, 0, 180, python(module, in_module, 3), 10, TRACE_USER);
    stage_sample(&st, 0, 185, python(starter, in_starter, 2), 5, TRACE_USER);
    analyse();
    assert_near(ms(own_line("app.py", 5).cpu_ns), 100, 1e-9); /* with the package that it calls */
    assert_near(ms(own_line("...shared/helper.py", 3).cpu_ns) +
                    ms(own_line("~/shared/helper.py", 3).cpu_ns),
                50, 1e-9);
    assert_near(ms(own_line("other.py", 9).cpu_ns), 10, 1e-9); /* own code that an import runs */
    double imports = 0;
    for (int i = 0; i < m->own_count; i++)
        imports += strcmp(m->own[i].kind, "import") ? 0 : ms(m->own[i].cpu_ns);
    assert_near(imports, 20, 1e-9);
    assert_near(ms(m->own[0].cpu_ns), 5, 1e-9); /* the starter of pytest is nobody's own */
    for (int i = 0; i < m->files_count; i++)
        assert_int_equal(m->files[i].user, strstr(m->files[i].path, "app.py") ||
                                               strstr(m->files[i].path, "other.py") ||
                                               strstr(m->files[i].path, "helper.py"));
}

struct at {
    const char *file, *function;
    int line;
};

/* Makes an event loop that waits, below the coroutines in `inner`. */
static uint64_t awaits(const struct at *inner, int n)
{
    static const struct at loop[] = {{"/usr/lib/python3.11/selectors.py", "select", 468},
                                     {"/usr/lib/python3.11/asyncio/base_events.py", "_run_once", 1},
                                     {"/usr/lib/python3.11/asyncio/base_events.py", "run", 2},
                                     {"/home/x/work/app.py", "<module>", 90}};
    uint64_t words[1 + 2 * 8] = {AT(EVAL, 1)};
    for (int i = 0; i < n + 4; i++) {
        const struct at *f = i < n ? &inner[i] : &loop[i - n];
        words[1 + 2 * i] = (uint64_t)f->line | (i == n + 3 ? TRACE_PYTHON_ENTRY : 0);
        words[2 + 2 * i] = stage_code(&st, f->file, f->function, 1);
    }
    return stage_stack(&st, words, 1, n + 4);
}

static void an_event_loop_waits_for_what_its_coroutine_awaits(void **state)
{
    (void)state;
    static const char tasks[] = "/usr/lib/python3.11/asyncio/tasks.py",
                      app[] = "/home/x/work/app.py",
                      library[] = "/home/x/venv/lib/python3.11/site-packages/pkg/core.py";
    static const struct {
        const char *waits;
        int n;
        struct at inner[3];
    } rows[] = {
        {"events", 1, {{app, "main", 10}}},
        {"sleep", 2, {{tasks, "sleep", 1}, {app, "main", 20}}},
        {"events", 2, {{tasks, "wait_for", 1}, {app, "main", 30}}},
        {"lock",
         2,
         {{"/usr/lib/python3.11/asyncio/threads.py", "to_thread", 1}, {app, "main", 40}}},
        {"child", 2, {{"/usr/lib/python3.11/asyncio/subprocess.py", "wait", 1}, {app, "main", 50}}},
        {"sleep", 3, {{tasks, "sleep", 1}, {library, "poll", 1}, {app, "main", 60}}},
    };
    const int n = sizeof rows / sizeof *rows;
    stage_thread(&st, 101, "a", 0);
    stage_meta(&st, "exe", "/usr/bin/python3.11");
    stage_meta(&st, "cwd", "/home/x/work");
    stage_meta(&st, "cmdline", "python3\napp.py");
    stage_meta(&st, "python", "3.11.2");
    for (int i = 0; i < n; i++)
        stage_wait_in(&st, 100, 100 * ((uint64_t)i + 1), awaits(rows[i].inner, rows[i].n), 100,
                      TRACE_SLEEP, SYS_epoll_pwait);
    static const struct at sleeps = {app, "work", 80};
    stage_wait_in(&st, 101, 500, python((const char *const[]){app}, &sleeps.line, 1), 500,
                  TRACE_SLEEP, SYS_clock_nanosleep);
    stage_wait_in(&st, 100, 10000, python((const char *const[]){app}, (int[]){70}, 1), 9400,
                  TRACE_SLEEP, SYS_clock_nanosleep);
    analyse();
    for (int i = 0; i < n; i++) {
        struct model_own o = own_line("app.py", 10 * (i + 1));
        int waits_for_thread = !strcmp(rows[i].waits, "lock");
        assert_near(ms(o.path_wait_ns), waits_for_thread ? 0 : 100, WITHIN);
        if (!waits_for_thread)
            assert_string_equal(o.waits_for, rows[i].waits);
    }
    assert_near(ms(own_line("app.py", 80).path_wait_ns), 100, WITHIN); /* what to_thread runs */
    assert_near(ms(own_line("app.py", 90).path_wait_ns), 0, WITHIN);
}

/* At one place a loop waits for events, then for the GIL: the last wait does not decide. */
static void a_place_waits_for_what_it_waited_for_longest(void **state)
{
    (void)state;
    uint64_t stack = stage_at(&st, AT(APP, 110));
    stage_wait_in(&st, 100, 20, stack, 20, TRACE_SLEEP, SYS_futex);
    stage_wait_in(&st, 100, 720, stack, 700, TRACE_SLEEP, SYS_epoll_pwait);
    stage_wait_in(&st, 100, 1000, stack, 280, TRACE_SLEEP, SYS_futex);
    works(0, 1000, 2000, 120);
    analyse();
    assert_near(ms(own_line(APP_C, 110).path_wait_ns), 1000, WITHIN);
    assert_string_equal(own_line(APP_C, 110).waits_for, "events");
}

static const struct analyze_options part = {
    .from_s = 0.4, .until_s = 0.8, .launch = {.pid = 1, .own_user_s = 1.5, .all_s = 1.5}};

/* The process's CPU time until a moment, by its own account. */
static void account(uint64_t ms, uint32_t at, uint64_t cpu_ms)
{
    struct trace_account a = {
        .r = {.kind = TRACE_ACCOUNT, .time_ns = T0 + ms * MS}, .user_ns = cpu_ms * MS, .at = at};
    stage_put(&st, 0, &a);
}

static void a_part_of_the_run_holds_what_was_in_it(void **state)
{
    (void)state;
    works(0, 0, 1000, 120);
    int a = stage_thread(&st, 101, "a", 0);
    SLEEPS(101, 900, 130, 800); /* from 100 to 900 ms */
    account(1, TRACE_AT_LOAD, 100);
    account(2, TRACE_AT_START, 200);
    account(1000, TRACE_AT_END, 1300); /* and 200 ms until it is gone */
    stage_alloc(&st, 0, 100, stage_at(&st, AT(APP, 140)), 0x1000, 1 << 20, 1 << 20);
    stage_alloc(&st, 0, 500, stage_at(&st, AT(APP, 150)), 0x2000, 2 << 20, 2 << 20);
    stage_free(&st, 0, 600, 0x1000);
    stage_api(&st, a, 100, 110, stage_at(&st, AT(APP, 160)), "cudaLaunchKernel", TRACE_API_LAUNCH,
              1);
    stage_api(&st, a, 500, 520, stage_at(&st, AT(APP, 160)), "cudaLaunchKernel", TRACE_API_LAUNCH,
              2);
    struct trace_kernel before_it = stage_kernel(&st, 120, 200, "k", 1),
                        inside = stage_kernel(&st, 530, 600, "k", 2);
    stage_put(&st, a, &before_it);
    stage_put(&st, a, &inside);
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(&part);
    assert_true(stage_lawful(m));
    assert_near(m->meta.wall_s, 0.4, 1e-9);
    assert_near(m->meta.from_s, 0.4, 0);
    assert_near(m->meta.until_s, 0.8, 1e-9);
    assert_near(m->totals.cpu.user, 0.4, 0.011); /* the sample at 400 ms is of the time before */
    assert_near(stage_line(m, APP_C, 130)->cpu.wait, 0.4, 1e-9);
    assert_null(stage_line(m, APP_C, 140));
    assert_near(stage_line(m, APP_C, 150)->mem.alloc_mb, 2, 1e-9);
    assert_near(stage_line(m, APP_C, 160)->gpu_self_s, 0.07, 1e-9);
    assert_int_equal(m->totals.launches, 1);
    assert_int_equal(m->unattributed_count, 0); /* its start and its end lie outside */
    assert_true(isnan(m->quality.cpu_sample_coverage));
    assert_non_null(stage_item(m, "part"));
    assert_null(stage_item(m, "trace.bad_values"));
}

/* Ten seconds: it imports up to `start` and in [from, until), and works else; 50 ms of each
 * `every`. */
static void imports_and_works(uint64_t start, uint64_t from, uint64_t until, uint64_t every)
{
    static const char *const import[] = {"<frozen importlib._bootstrap>", "/home/x/work/app.py"},
                             *const work[] = {"/home/x/work/app.py"};
    static const int in_import[] = {1000, 1}, in_work[] = {5};
    stage_meta(&st, "cwd", "/home/x/work");
    uint64_t imports = python(import, in_import, 2), works_at = python(work, in_work, 1);
    for (uint64_t t = every; t <= 10000; t += every)
        stage_sample(&st, 0, t, t <= start || (t >= from && t < until) ? imports : works_at, 50,
                     TRACE_USER);
    stage_close(&st, TRACE_EXIT, 0);
}

static const struct analyze_options after_imports = {.after_imports = 1};

static void the_start_ends_with_its_imports(void **state)
{
    (void)state;
    imports_and_works(3000, 9000, 9050, 50); /* a late import is not of the start */
    m = stage_model(&after_imports);
    assert_near(m->meta.from_s, 3, 0.06);
    assert_near(ms(own_line("app.py", 5).cpu_ns), 6950, 51);
}

static void imports_of_the_end_are_not_of_the_start(void **state)
{
    (void)state;
    imports_and_works(6000, 9500, 10001, 50); /* the interpreter imports as it ends */
    m = stage_model(&after_imports);
    assert_near(m->meta.from_s, 6, 0.06);
    assert_near(ms(own_line("app.py", 5).cpu_ns), 3450, 51);
}

static void a_start_that_waits_for_a_cpu_ends_with_its_imports(void **state)
{
    (void)state;
    imports_and_works(3000, 0, 0, 500);
    m = stage_model(&after_imports);
    assert_near(m->meta.from_s, 3, 0.11); /* a sample stands for up to 100 ms behind it */
}

static void a_run_that_only_imports_says_so(void **state)
{
    (void)state;
    imports_and_works(10000, 0, 0, 50);
    assert_int_equal(analyze_run(stage_folder, &after_imports, &m), ERR_INPUT);
    assert_non_null(strstr(err_text(), "`after=imports`: nothing is left"));
}

static void recursion_is_once_on_a_path_of_own_lines(void **state)
{
    (void)state;
    const uint64_t words[] = {AT(APP, 120), AT(APP, 130), AT(APP, 120), AT(APP, 110)};
    stage_sample(&st, 0, 10, stage_stack(&st, words, 4, 0), 10, TRACE_USER);
    analyse();
    assert_int_equal(m->own_count, 4); /* the run, 110, 130, 120 */
    assert_int_equal(m->own[3].line, 120);
    assert_int_equal(m->own[m->own[3].parent].line, 130);
    assert_near(ms(m->own[3].cpu_ns), 10, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
        TEST(who_sleeps_hands_its_time_to_who_works_meanwhile),
        TEST(who_waits_for_a_child_waits_for_that),
        TEST(who_joins_hands_its_time_to_the_workers),
        TEST(work_of_a_library_s_thread_is_divided_between_the_lines_that_wait),
        TEST(work_of_a_library_s_thread_belongs_to_the_thread_that_waits_for_it),
        TEST(ready_for_a_cpu_is_nobodys),
        TEST(a_computing_thread_that_is_ready_does_not_compute),
        TEST(who_computes_and_waits_in_turns_does_both),
        TEST(own_is_what_lies_beside_the_program),
        TEST(an_event_loop_waits_for_what_its_coroutine_awaits),
        TEST(a_place_waits_for_what_it_waited_for_longest),
        TEST(a_part_of_the_run_holds_what_was_in_it),
        TEST(the_start_ends_with_its_imports),
        TEST(imports_of_the_end_are_not_of_the_start),
        TEST(a_start_that_waits_for_a_cpu_ends_with_its_imports),
        TEST(a_run_that_only_imports_says_so),
        TEST(recursion_is_once_on_a_path_of_own_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
