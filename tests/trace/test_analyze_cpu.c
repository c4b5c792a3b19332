/* links: tp_stage tp_report tp_trace */
/* Analysis of CPU samples: which line, function, module and range pays. */
#include <stdio.h>

#include "tests/trace/run_case.h"
#include "profiler/report/text/text.h"

#define NEAR(a, b) assert_near(a, b, 1e-12)

static void self_goes_to_the_leaf_line_and_inclusive_to_its_callers(void **state)
{
    (void)state;
    const uint64_t inner[] = {AT(LIBC, 1), AT(APP, 210), AT(APP, 120)}, outer[] = {AT(APP, 120)};
    uint64_t a = stage_stack(&st, inner, 3, 0), b = stage_stack(&st, outer, 1, 0);
    stage_sample(&st, 0, 10, a, 5, TRACE_USER);
    stage_sample(&st, 0, 20, a, 5, TRACE_SYSTEM);
    stage_sample(&st, 0, 30, b, 7, TRACE_USER);
    analyse();
    const struct model_line *leaf = stage_line(m, APP_C, 210), *root = stage_line(m, APP_C, 120);
    NEAR(leaf->cpu.user, 0.005); /* time in libc is its caller's */
    NEAR(leaf->cpu.sys, 0.005);
    NEAR(leaf->cpu.native, 0.005);
    assert_int_equal(leaf->cpu.samples, 2);
    NEAR(leaf->cpu.error, sqrt(2) * 0.005);
    NEAR(root->cpu.user, 0.007);
    NEAR(root->cpu_incl.user, 0.012);
    NEAR(root->cpu_incl.sys, 0.005);
    NEAR(stage_function(m, APP_C, "f1")->cpu_incl.user, 0.012);
    assert_string_equal(m->files[0].functions[leaf->function].name, "f2");
    NEAR(leaf->cpu.share + root->cpu.share, 1);
    NEAR(leaf->scalene.n_cpu_percent_c, 100 * 0.005 / 0.017);
    assert_true(isnan(leaf->gpu_self_s) && isnan(leaf->mem.alloc_mb)); /* not recorded */
    assert_int_equal(m->unattributed_count, 0);
}

static void a_lines_share_of_all_cpus_needs_their_number(void **state)
{
    (void)state;
    const uint64_t word[] = {AT(APP, 120)};
    stage_sample(&st, 0, 10, stage_stack(&st, word, 1, 0), 20, TRACE_USER);
    analyse();
    assert_true(isnan(stage_line(m, APP_C, 120)->scalene.n_core_utilization));
    model_destroy(m);
    m = stage_model(&(struct analyze_options){.cpus = 4});
    NEAR(stage_line(m, APP_C, 120)->scalene.n_core_utilization, 0.02 / (4 * m->meta.wall_s));
}

static void recursion_counts_once(void **state)
{
    (void)state;
    const uint64_t words[] = {AT(APP, 130), AT(APP, 120), AT(APP, 120), AT(APP, 120)};
    stage_sample(&st, 0, 10, stage_stack(&st, words, 4, 0), 10, TRACE_USER);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->cpu_incl.user, 0.01);
    NEAR(stage_function(m, APP_C, "f1")->cpu_incl.user, 0.01);
    NEAR(stage_function(m, APP_C, "f1")->cpu.user, 0.01);
    assert_int_equal(m->stacks_count, 5); /* the tree keeps every level, and the thread */
}

static void inlined_code_is_charged_where_it_stands(void **state)
{
    (void)state;
    const uint64_t words[] = {AT(INLINED, 3)};
    stage_sample(&st, 0, 10, stage_stack(&st, words, 1, 0), 4, TRACE_USER);
    const uint64_t library[] = {AT(HEADER, 50), AT(APP, 310)};
    stage_sample(&st, 0, 20, stage_stack(&st, library, 2, 0), 6, TRACE_USER);
    analyse();
    NEAR(stage_line(m, APP_C, 3)->cpu.user, 0.004);
    NEAR(stage_line(m, APP_C, 7)->cpu_incl.user, 0.004);
    NEAR(stage_line(m, APP_C, 310)->cpu.user, 0.006); /* to the template's caller */
    NEAR(stage_line(m, "/usr/include/c++/12/vector", 50)->cpu.user, 0);
    NEAR(stage_line(m, "/usr/include/c++/12/vector", 50)->cpu_incl.user, 0.006);
}

static void without_lines_the_module_is_charged(void **state)
{
    (void)state;
    const uint64_t words[] = {AT(LIBC, 1), AT(NATIVE_LIB, 1)};
    stage_sample(&st, 0, 10, stage_stack(&st, words, 2, 0), 8, TRACE_USER);
    stage_sample(&st, 0, 20, 0, 2, TRACE_USER);
    stage_sample(&st, 0, 30, 77, 1, TRACE_USER); /* never defined */
    analyse();
    assert_int_equal(m->unattributed_count, 2);
    for (int i = 0; i < 2; i++) {
        int none = !strcmp(m->unattributed[i].module, "[no stack]");
        if (!none)
            assert_string_equal(m->unattributed[i].module, "site-packages/numpy/_core.so");
        NEAR(m->unattributed[i].cpu.user, none ? 0.003 : 0.008);
    }
    NEAR(m->quality.unattributed_cpu_share, 1);
    NEAR(m->quality.unresolved_frame_share, 0);
    assert_non_null(stage_item(m, "cpu.unattributed"));
}

static uint64_t python_stack(const char *version, uint64_t entry)
{
    uint64_t main_code = stage_code(&st, "/home/u/p/prog.py", "main", 1);
    uint64_t work = stage_code(&st, "/home/u/p/prog.py", "work", 10);
    uint64_t library = stage_code(&st, "/x/site-packages/numpy/lib.py", "dot", 100);
    stage_meta(&st, "python.version", version);
    stage_meta(&st, "cwd", "/home/u/p");
    if (entry) { /* one loop runs dot and work, another main */
        const uint64_t words[] = {AT(NATIVE_LIB, 1),
                                  AT(PYTHON_C, 1),
                                  AT(EVAL, 1),
                                  AT(PYTHON_C, 2),
                                  AT(EVAL, 2),
                                  AT(PYTHON_C, 3),
                                  101,
                                  library,
                                  12 | entry,
                                  work,
                                  5 | entry,
                                  main_code};
        return stage_stack(&st, words, 6, 3);
    }
    const uint64_t words[] = {AT(NATIVE_LIB, 1),
                              AT(EVAL, 1),
                              AT(PYTHON_C, 1),
                              AT(EVAL, 2),
                              AT(PYTHON_C, 2),
                              AT(EVAL, 3),
                              101,
                              library,
                              12,
                              work,
                              5,
                              main_code};
    return stage_stack(&st, words, 6, 3);
}

static void check_python_tree(void)
{
    const char *expected[] = {"main", "main", "work", "dot", "dot"};
    const char *kinds[] = {"thread", "python", "python", "python", "native"};
    int64_t lines[] = {MODEL_UNKNOWN, 5, 12, 101, MODEL_UNKNOWN};
    int at = -1;
    for (int i = 0; i < m->stacks_count; i++)
        at = m->stacks[i].cpu_ns > 0 ? i : at;
    for (int depth = 4; depth >= 0; depth--, at = m->stacks[at].parent) {
        const struct model_frame *f = &m->frames[m->stacks[at].frame];
        assert_int_equal(f->line, lines[depth]);
        assert_string_equal(f->kind, kinds[depth]);
        assert_string_equal(f->function, depth == 4 ? "dot" : expected[depth]);
    }
    assert_int_equal(at, -1);
    NEAR(stage_line(m, "prog.py", 12)->cpu.user, 0.01); /* of the package too */
    NEAR(stage_line(m, "prog.py", 12)->cpu.native, 0.01);
    NEAR(stage_line(m, "site-packages/numpy/lib.py", 101)->cpu_incl.user, 0.01);
    NEAR(stage_line(m, "prog.py", 5)->cpu_incl.user, 0.01);
}

static void python_frames_stand_where_the_interpreter_ran_them_since_3_11(void **state)
{
    (void)state;
    stage_sample(&st, 0, 10, python_stack("3.11.2", TRACE_PYTHON_ENTRY), 10, TRACE_USER);
    analyse();
    check_python_tree();
}

static void python_frames_stand_one_per_loop_before_3_11(void **state)
{
    (void)state;
    stage_sample(&st, 0, 10, python_stack("3.10.4", 0), 10, TRACE_USER);
    analyse();
    check_python_tree();
}

/* Loops of the interpreter belong to entries counted from the root where either is left out. */
static void frames_left_out_have_their_place(void **state)
{
    (void)state;
    const uint64_t entry = TRACE_PYTHON_ENTRY, gap = TRACE_LEFT_OUT | 7;
    uint64_t leaf = stage_code(&st, "/home/u/p/prog.py", "leaf", 1);
    uint64_t root = stage_code(&st, "/home/u/p/prog.py", "root", 10);
    stage_meta(&st, "python.version", "3.11.2");
    const uint64_t native_gap[] = {AT(LIBC, 1), AT(EVAL, 1), gap,  AT(NATIVE_LIB, 1),
                                   AT(EVAL, 2), 2 | entry,   leaf, 3 | entry,
                                   leaf,        11 | entry,  root};
    const uint64_t python_gap[] = {AT(LIBC, 1), AT(EVAL, 1),       AT(EVAL, 2), AT(EVAL, 3),
                                   AT(EVAL, 4), AT(NATIVE_LIB, 1), AT(EVAL, 5), 2 | entry,
                                   leaf,        3 | entry,         leaf,        gap,
                                   0,           11 | entry,        root};
    const struct {
        const uint64_t *words;
        int native, python;
        const char *expected[6]; /* from the root on; NULL: any */
    } cases[] = {
        {native_gap, 5, 3, {"main", "root", NULL, "leaf", "[frames left out]", "leaf"}},
        {python_gap, 7, 4, {"main", "root", NULL, "[frames left out]", "leaf", "leaf"}},
    };
    for (int i = 0; i < 2; i++)
        stage_sample(&st, 0, 10 + (uint64_t)i,
                     stage_stack(&st, cases[i].words, cases[i].native, cases[i].python),
                     10 + 10 * (uint64_t)i, TRACE_USER);
    analyse();
    for (int i = 0; i < 2; i++) {
        int at = -1, depth = 0, path[16];
        for (int k = 0; k < m->stacks_count; k++)
            at = m->stacks[k].cpu_ns == 10000000 * (i + 1) ? k : at;
        for (; at >= 0 && depth < 16; at = m->stacks[at].parent)
            path[depth++] = at;
        assert_int_equal(depth, 7); /* and the leaf, which is C */
        for (int k = 0; k < 6; k++)
            if (cases[i].expected[k])
                assert_string_equal(m->frames[m->stacks[path[6 - k]].frame].function,
                                    cases[i].expected[k]);
    }
    assert_non_null(stage_item(m, "stack.deep"));
}

static void time_of_the_interpreter_itself_is_python(void **state)
{
    (void)state;
    uint64_t code = stage_code(&st, "/p/prog.py", "main", 1);
    const uint64_t words[] = {AT(LIBC, 1), AT(PYTHON_C, 1), AT(EVAL, 1), 5 | TRACE_PYTHON_ENTRY,
                              code};
    stage_sample(&st, 0, 10, stage_stack(&st, words, 3, 1), 10, TRACE_USER);
    stage_sample(&st, 0, 20, stage_stack(&st, words, 3, 1), 2, TRACE_SYSTEM);
    analyse();
    const struct model_line *line = stage_line(m, ".../prog.py", 5);
    NEAR(line->cpu.python, 0.01);
    NEAR(line->cpu.native, 0);
    NEAR(line->cpu.sys, 0.002);
    NEAR(line->scalene.n_cpu_percent_python, 100 * 10 / 12.0);
}

/* Line 5 joins the thread that is at line 7 in a library, whose pool works for that line. */
static void workers_borrow_the_line_of_who_is_in_their_library(void **state)
{
    (void)state;
    uint64_t code = stage_code(&st, "/p/prog.py", "main", 1);
    const uint64_t joins[] = {AT(LIBC, 1), AT(EVAL, 1), 5 | TRACE_PYTHON_ENTRY, code};
    const uint64_t calls[] = {AT(LIBC, 1), AT(NATIVE_LIB, 3), AT(EVAL, 1), 7 | TRACE_PYTHON_ENTRY,
                              code};
    uint64_t a = stage_stack(&st, joins, 2, 1), b = stage_stack(&st, calls, 3, 1);
    int side = stage_thread(&st, 102, "side", 0), worker = stage_thread(&st, 101, "worker", 0);
    stage_wait(&st, 100, 400, a, 400, TRACE_SLEEP);
    stage_sample(&st, side, 90, b, 1, TRACE_USER);
    stage_wait(&st, 102, 200, b, 100, TRACE_SLEEP);
    stage_sample(&st, worker, 150, stage_at(&st, AT(NATIVE_LIB, 9)), 10, TRACE_USER);
    stage_sample(&st, worker, 160, stage_at(&st, AT(LIBC, 9)), 3, TRACE_USER); /* in no library */
    stage_sample(&st, worker, 380, stage_at(&st, AT(NATIVE_LIB, 9)), 5,
                 TRACE_USER); /* long after */
    analyse();
    NEAR(stage_line(m, ".../prog.py", 7)->cpu.borrowed, 0.01);
    NEAR(stage_line(m, ".../prog.py", 5)->cpu.borrowed, 0.008);
}

static void workers_borrow_the_line_of_the_main_thread(void **state)
{
    (void)state;
    uint64_t code = stage_code(&st, "/p/prog.py", "main", 1);
    const uint64_t first[] = {AT(EVAL, 1), 5 | TRACE_PYTHON_ENTRY, code};
    const uint64_t second[] = {AT(EVAL, 1), 6 | TRACE_PYTHON_ENTRY, code};
    uint64_t a = stage_stack(&st, first, 1, 1), b = stage_stack(&st, second, 1, 1);
    uint64_t work = stage_at(&st, AT(NATIVE_LIB, 9));
    int worker = stage_thread(&st, 101, "worker", 0);
    stage_sample(&st, 0, 100, a, 1, TRACE_USER);
    stage_wait(&st, 100, 200, b, 50, TRACE_SLEEP);
    stage_sample(&st, worker, 101, work, 10, TRACE_USER); /* while main is at line 5 */
    stage_sample(&st, worker, 160, work, 3, TRACE_USER);  /* line 6: within that wait */
    stage_sample(&st, worker, 250, work, 17, TRACE_USER); /* line 6, seen waiting */
    stage_wait(&st, 100, 310, 0, 100, TRACE_RUNNABLE);
    stage_sample(&st, worker, 320, work, 5, TRACE_USER);  /* line 6 still: main had no CPU */
    stage_sample(&st, worker, 500, work, 40, TRACE_USER); /* nothing near */
    analyse();
    NEAR(stage_line(m, ".../prog.py", 5)->cpu.borrowed, 0.01);
    NEAR(stage_line(m, ".../prog.py", 5)->cpu.user, 0.011);
    NEAR(stage_line(m, ".../prog.py", 6)->cpu.borrowed, 0.025);
    NEAR(stage_line(m, ".../prog.py", 6)->cpu.wait, 0.05);
    const struct model_line *six = stage_line(m, ".../prog.py", 6);
    assert_int_equal(six->threads_count, 2); /* the worker computed, the main thread waited */
    assert_int_equal(six->threads[0].thread, 1);
    NEAR(six->threads[0].cpu_s, 0.025);
    NEAR(six->threads[1].wait_s, 0.05);
    NEAR(m->quality.borrowed_cpu_share, 35.0 / 76);
    NEAR(m->totals.cpu.borrowed, 0.035);
    assert_non_null(stage_item(m, "cpu.borrowed"));
    assert_int_equal(m->unattributed_count, 2);
    NEAR(m->unattributed[0].cpu.user + m->unattributed[1].cpu.user, 0.04);
    NEAR(m->totals.wait.sleep, 0.05);
    NEAR(m->totals.wait.runnable, 0.1);
}

static void processes_are_added(void **state)
{
    (void)state;
    uint64_t at = stage_at(&st, AT(APP, 120));
    stage_sample(&st, 0, 10, at, 5, TRACE_USER);
    stage_close(&st, TRACE_EXIT, 3);
    stage_open(&st, 200, T0 + 1000 * MS);
    at = stage_at(&st, AT(APP, 120));
    stage_sample(&st, 0, 1010, at, 7, TRACE_USER);
    struct trace_thread_end e = {.r = {.kind = TRACE_THREAD_END, .time_ns = T0 + 1100 * MS},
                                 .tid = 200,
                                 .user_ns = 8 * MS,
                                 .system_ns = 0};
    stage_put(&st, 0, &e);
    stage_close(&st, TRACE_SIGNAL, 11);
    m = stage_model(NULL);
    assert_true(stage_lawful(m));
    const struct model_line *line = stage_line(m, APP_C, 120);
    NEAR(line->cpu.user, 0.012);
    assert_int_equal(line->threads_count, 2);
    NEAR(line->threads[0].cpu_s, 0.007);
    assert_int_equal(m->threads[line->threads[0].thread].tid, 200);
    NEAR(line->threads[1].cpu_s, 0.005);
    assert_int_equal(m->processes_count, 2);
    assert_string_equal(m->meta.end, "exit");
    assert_int_equal(m->meta.end_detail, 3);
    NEAR(m->processes[1].start_s, 1);
    assert_string_equal(m->processes[1].end, "signal");
    assert_int_equal(m->processes[1].end_detail, 11);
    NEAR(m->processes[1].cpu_s, 0.007);
    NEAR(m->quality.cpu_sample_coverage, 7.0 / 8);
    assert_true(isnan(m->threads[0].kernel_cpu_s));
    NEAR(m->threads[1].coverage, 7.0 / 8);
}

/* The launcher's account of the run has the recorder's threads too: they are not the program's. */
static void coverage_is_of_the_program(void **state)
{
    (void)state;
    struct trace_thread_end e = {.r = {.kind = TRACE_THREAD_END, .time_ns = T0 + 90 * MS},
                                 .tid = 99,
                                 .user_ns = 2 * MS,
                                 .system_ns = 3 * MS};
    stage_sample(&st, 0, 10, stage_at(&st, AT(APP, 120)), 5, TRACE_USER);
    stage_put(&st, stage_thread(&st, 99, "recorder", 2), &e);
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(&(struct analyze_options){.launch = {.pid = 1, .all_s = 0.015}});
    NEAR(m->quality.cpu_sample_coverage, 0.5);
}

/* Losses below the error of sampling do not make the data incomplete. */
static void small_losses_are_no_warnings(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        stage_sample(&st, 0, 10 + 5 * (uint64_t)i, stage_at(&st, AT(APP, 120)), 5, TRACE_USER);
    trace_lost(&st.w, TRACE_LOST_SAMPLES, 5);
    trace_lost(&st.w, TRACE_LOST_PYTHON, 2);
    analyse();
    assert_string_equal(stage_item(m, "lost.samples")->severity, "info");
    assert_string_equal(stage_item(m, "lost.python")->severity, "info");
    NEAR(stage_item(m, "lost.python")->share, 2.0 / 202);
}

static void losses_are_said_with_effect(void **state)
{
    (void)state;
    stage_sample(&st, 0, 10, stage_at(&st, AT(APP, 120)), 5, TRACE_USER);
    trace_lost(&st.w, TRACE_LOST_SAMPLES, 9);
    trace_lost(&st.w, TRACE_LOST_PYTHON, 1);
    struct trace_note n = {.r = {.kind = TRACE_NOTE, .time_ns = T0}, .severity = 1, .bytes = 20};
    trace_put(&st.s[0], &n.r, sizeof n, "timers\0no more timers", 20);
    stage_close(&st, TRACE_RUNNING, 0);
    m = stage_model(NULL);
    assert_int_equal(stage_item(m, "lost.samples")->count, 9);
    assert_string_equal(stage_item(m, "lost.samples")->severity, "warning");
    NEAR(stage_item(m, "lost.samples")->share, 0.9);
    assert_non_null(stage_item(m, "lost.samples")->effect);
    assert_string_equal(stage_item(m, "lost.python")->severity, "warning");
    assert_string_equal(stage_item(m, "timers")->text, "no more timer");
    assert_string_equal(m->meta.end, "running");
    assert_non_null(stage_item(m, "trace.running"));
    assert_false(m->quality.complete);
}

static void patterns_choose_who_pays(void **state)
{
    (void)state;
    const uint64_t words[] = {AT(INLINED, 3), AT(HEADER, 50), AT(APP, 310)};
    stage_sample(&st, 0, 10, stage_stack(&st, words, 3, 0), 8, TRACE_USER);
    stage_close(&st, TRACE_EXIT, 0);
    const char *const header[] = {"*/vector", NULL};
    struct analyze_options o = {.include = header};
    m = stage_model(&o);
    NEAR(stage_line(m, "/usr/include/c++/12/vector", 50)->cpu.user, 0.008);
    model_destroy(m);
    const char *const app[] = {"/src/*", NULL};
    o = (struct analyze_options){.exclude = app, .libraries = 1};
    m = stage_model(&o);
    NEAR(stage_line(m, "/usr/include/c++/12/vector", 50)->cpu.user, 0.008);
    assert_true(stage_lawful(m));
}

static void nothing_is_a_profile_too(void **state)
{
    (void)state;
    analyse();
    assert_int_equal(m->files_count, 0);
    assert_true(isnan(m->totals.cpu.user) && isnan(m->totals.gpu_busy_s));
    assert_true(report_text(m, stderr, &(struct text_view){.width = 80, .colour = 0, .top = 5}) ==
                ERR_OK);
}

static void what_was_on_and_saw_nothing_is_zero(void **state)
{
    (void)state;
    stage_meta(&st, "modes", "cpu,wait,memory");
    struct trace_note n = {
        .r = {.kind = TRACE_NOTE, .time_ns = T0}, .severity = 1, .bytes = sizeof "malloc\0off"};
    trace_put(&st.s[0], &n.r, sizeof n, "malloc\0off", sizeof "malloc\0off");
    analyse();
    assert_true(m->totals.cpu.user <= 0 && m->totals.wait.sleep <= 0);
    assert_true(isnan(m->totals.alloc_mb));
}

static const struct model_range *range_of(const char *name)
{
    for (int i = 0; i < m->ranges_count; i++)
        if (!strcmp(m->ranges[i].name, name))
            return &m->ranges[i];
    fail_msg("no range %s", name);
    return NULL;
}

/* The main thread has ranges "prepare" 0 to 100 ms and "work" 200 to 400 ms with "inner" in it, a
 * second thread one, "own". */
static void cpu_time_belongs_to_the_ranges_around_it(void **state)
{
    (void)state;
    uint64_t at120 = stage_at(&st, AT(APP, 120)), at210 = stage_at(&st, AT(APP, 210));
    int worker = stage_thread(&st, 101, "worker", 0), other = stage_thread(&st, 102, "other", 0);
    for (uint64_t ms = 5; ms < 500; ms += 10) { /* before the ranges: order in the file is free */
        stage_sample(&st, worker, ms, at120, 4, TRACE_USER);
        stage_sample(&st, other, ms, at210, 2, TRACE_SYSTEM);
    }
    stage_range(&st, other, 450, TRACE_PUSH, "own", 0);
    stage_range(&st, 0, 0, TRACE_PUSH, "prepare", 0);
    stage_range(&st, 0, 100, TRACE_POP, NULL, 0);
    stage_range(&st, 0, 200, TRACE_PUSH, "work", 0);
    stage_range(&st, 0, 210, TRACE_PUSH, "inner", 0);
    stage_range(&st, 0, 230, TRACE_POP, NULL, 0);
    stage_range(&st, 0, 400, TRACE_POP, NULL, 0);
    stage_sample(&st, 0, 225, at120, 1, TRACE_USER);
    stage_sample(&st, 0, 405, at120, 1, TRACE_USER);
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(NULL);
    assert_true(stage_lawful(m));
    NEAR(range_of("prepare")->cpu_s, 0.040);
    NEAR(range_of("work")->cpu_s, 0.081);
    NEAR(range_of("inner")->cpu_s, 0.009);
    NEAR(range_of("own")->cpu_s, 0.010);
    const struct model_line *l = stage_line(m, APP_C, 120);
    assert_int_equal(l->ranges_count, 2);
    assert_ptr_equal(&m->ranges[l->ranges[0].range], range_of("work"));
    NEAR(l->ranges[0].cpu_s, 0.081);
    assert_ptr_equal(&m->ranges[l->ranges[1].range], range_of("prepare"));
    NEAR(l->ranges[1].cpu_s, 0.040);
    l = stage_line(m, APP_C, 210);
    assert_int_equal(l->ranges_count, 1);
    NEAR(l->ranges[0].cpu_s, 0.010);
}

static void no_trace_is_an_error(void **state)
{
    (void)state;
    stage_close(&st, TRACE_EXIT, 0);
    struct model *none = NULL;
    assert_error(analyze_run("/nonexistent/run", NULL, &none), ERR_INPUT, "/nonexistent/run");
    assert_null(none);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, before, after)
    const struct CMUnitTest tests[] = {
        CASE(cpu_time_belongs_to_the_ranges_around_it),
        CASE(self_goes_to_the_leaf_line_and_inclusive_to_its_callers),
        CASE(a_lines_share_of_all_cpus_needs_their_number),
        CASE(recursion_counts_once),
        CASE(inlined_code_is_charged_where_it_stands),
        CASE(without_lines_the_module_is_charged),
        CASE(python_frames_stand_where_the_interpreter_ran_them_since_3_11),
        CASE(python_frames_stand_one_per_loop_before_3_11),
        CASE(frames_left_out_have_their_place),
        CASE(time_of_the_interpreter_itself_is_python),
        CASE(workers_borrow_the_line_of_the_main_thread),
        CASE(workers_borrow_the_line_of_who_is_in_their_library),
        CASE(processes_are_added),
        CASE(coverage_is_of_the_program),
        CASE(small_losses_are_no_warnings),
        CASE(losses_are_said_with_effect),
        CASE(patterns_choose_who_pays),
        CASE(nothing_is_a_profile_too),
        CASE(what_was_on_and_saw_nothing_is_zero),
        CASE(no_trace_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
