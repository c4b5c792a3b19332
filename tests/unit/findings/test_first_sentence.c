/* links: tp_report */
#include <stdio.h>

#include "tests/unit/findings/own_case.h"

/* 9 of 12 s: above half of a long run. */
static void the_imports_of_a_long_run_lead(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        LINE(0, 3, "<module>", 0, 0),
                                        {1, "import", NULL, 0, NULL, 9000, 9000, 0, NULL},
                                        LINE(0, 9, "work", 3000, 3000)};
    struct model *m = RUN(12, nodes);
    assert_ok(answer(m));
    begins_with(m, "Importing modules took 9 of 12 s (app.py:3).");
    model_destroy(m);
    m = RUN(60, nodes); /* 48 s of it in the run queue: the same */
    m->totals.path_ready_s = 48;
    assert_ok(answer(m));
    begins_with(m, "Importing modules took 9 of 12 s (app.py:3).");
    model_destroy(m);
    static const struct node brief[] = {ROOT,
                                        LINE(0, 3, "<module>", 0, 0),
                                        {1, "import", NULL, 0, NULL, 4500, 4500, 0, NULL},
                                        LINE(0, 9, "work", 1500, 1500)};
    m = RUN(12, brief); /* 6 of 12 s in the queue: not a long run */
    m->totals.path_ready_s = 6;
    assert_ok(answer(m));
    begins_with(m, "app.py:9 takes 25 %");
    model_destroy(m);
}

static void an_import_inside_of_a_call_is_told_as_such(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        LINE(0, 3, "<module>", 0, 0),
                                        LINE(1, 12, "load", 0, 0),
                                        {2, "import", NULL, 0, NULL, 1200, 1200, 0, NULL},
                                        LINE(1, 9, "work", 1000, 1000)};
    struct model *m = RUN(3, nodes);
    assert_ok(model_list(m, model_line, &m->files[0], lines, 1));
    m->files[0].lines[0].line = 12;
    m->files[0].lines[0].text = "    import scipy.stats";
    assert_ok(answer(m));
    begins_with(m, "app.py:12 imports scipy inside of load(): 1.2 of 3 s.");
    model_destroy(m);
}

/* Beside busy neighbours the work takes 8 times as long, the sleep does not. */
static void the_run_queue_changes_no_answer(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, WAIT(0, 4, "acquire", 2300, "sleep"),
                                        LINE(0, 9, "work", 1700, 1700)};
    for (int busy = 0; busy < 2; busy++) {
        struct model *m = RUN(busy ? 16 : 4, nodes);
        struct model_item item = {.id = "cpu.busy"};
        m->totals.path_ready_s = busy ? 12 : 0;
        assert_ok(model_list(m, model_item, &m->quality, items, (size_t)busy));
        if (busy)
            m->quality.items[0] = item;
        assert_ok(answer(m));
        begins_with(m, busy ? "app.py:4 sleeps for 2.3 of the 4 s that the program ran, waiting "
                              "for a CPU left out."
                            : "app.py:4 sleeps for 2.3 of the 4 s that the program ran.");
        assert_near(m->answers[0].gain_s, 2.3, 1e-9);
        assert_near(m->answers[0].share, 2.3 / 4, 1e-9);
        assert_near(m->answers[1].gain_s, 1.7, 1e-9);
        model_destroy(m);
    }
}

/* 40 lines of functions of their own, 2 % each, and imports of a tenth. */
static void a_flat_profile_says_so(void **state)
{
    (void)state;
    enum { LINES = 40 };
    static struct node nodes[2 * LINES + 4] = {ROOT,
                                               LINE(0, 200, "<module>", 0, 0),
                                               {1, "import", NULL, 0, NULL, 300, 300, 0, NULL},
                                               LINE(1, 90, "main", 0, 0)};
    static char names[LINES][16];
    for (int i = 0; i < LINES; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        nodes[4 + 2 * i] = (struct node)LINE(3, 100 + i, "main", 0, 0);
        nodes[5 + 2 * i] = (struct node)LINE(4 + 2 * i, 3 + 2 * i, names[i], 60 + !i, 60 + !i);
    }
    struct model *m = RUN(3, nodes);
    assert_ok(answer(m));
    begins_with(m, "No line dominates: the largest is app.py:3 with 2 %; 34 lines share 76 % of "
                   "2.7 s of CPU time.");
    model_destroy(m);
}

/* The pickling of a pool's workers hangs below the line that waits for them; what they wait for does
 * not count. */
static void work_of_a_pool_is_told_at_the_line_that_waits(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        LINE(0, 12, "<module>", 0, 0),
                                        LINE(1, 9, "main", 70, 70),
                                        {2, "workers", NULL, 0, NULL, 400, 300, 2000, "events"},
                                        {2, "workers", NULL, 0, NULL, 330, 250, 2000, "events"},
                                        LINE(0, 4, "f", 200, 100)};
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "app.py:9 takes 80 % of the CPU time (0.8 of 1 s).");
    for (int i = 0; i < m->answers_count; i++)
        assert_string_equal(m->answers[i].kind, "cpu");
    model_destroy(m);
}

/* They are functions of their own, though all have one name. */
static void lambdas_are_not_one_function(void **state)
{
    (void)state;
    static const struct node nodes[] = {
        ROOT,
        LINE(0, 90, "<module>", 0, 0),
        LINE(1, 5, "<lambda>", 90, 90),
        LINE(1, 25, "<lambda>", 90, 90),
        LINE(1, 45, "<lambda>", 90, 90),
        LINE(1, 12, "count", 730, 730),
    };
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "app.py:12 takes 73 %");
    assert_near(m->answers[1].share, 0.09, 1e-9);
    model_destroy(m);
    static const struct node of_cpp[] = {ROOT, LINE(0, 30, "main", 200, 200),
                                         LINE(1, 14, "operator()", 450, 450),
                                         LINE(1, 18, "operator()", 350, 350)};
    m = RUN(1, of_cpp);
    assert_ok(answer(m));
    begins_with(m, "Three lines use most of the CPU time: app.py:14 (45 %), app.py:18 (35 %) and");
    model_destroy(m);
}

/* A loop over three stages: they share the time, not the line that calls them. */
static void a_dispatcher_is_not_the_answer(void **state)
{
    (void)state;
    static const struct node nodes[] = {
        ROOT,
        LINE(0, 40, "<module>", 0, 0),
        LINE(1, 30, "main", 10, 10),
        LINE(2, 25, "step", 0, 0),
        LINE(3, 5, "parse", 150, 150),
        LINE(3, 6, "parse", 150, 150),
        LINE(3, 7, "parse", 140, 140),
        LINE(3, 12, "clean", 250, 250),
        LINE(3, 20, "total", 300, 300),
    };
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "Three places use most of the CPU time: parse() (app.py:5 to 7) (44 %), "
                   "app.py:20 (30 %) and app.py:12 (25 %) of 1 s.");
    model_destroy(m);
}

static void imports_are_an_item_of_their_own(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        LINE(0, 3, "<module>", 0, 0),
                                        {1, "import", NULL, 0, NULL, 1900, 1800, 100, NULL},
                                        LINE(0, 9, "work", 1500, 1500)};
    struct model *m = RUN(4, nodes);
    assert_ok(answer(m));
    begins_with(m, "app.py:9 takes 44 % of the CPU time (1.5 of 3.4 s).");
    assert_near(m->answers[0].share, 1.5 / 3.4, 1e-9); /* of all CPU time */
    assert_string_equal(m->answers[1].text, "Importing modules took 1.9 of 4 s (app.py:3).");
    model_destroy(m);
}

static int imports_of(const struct model *m)
{
    int n = 0;
    for (int i = 0; i < m->answers_count; i++)
        n += !strncmp(m->answers[i].text, "Importing", 9);
    return n;
}

/* The interpreter's own imports, which no line of the program asks for. */
static void short_imports_of_the_interpreter_are_no_answer(void **state)
{
    (void)state;
    static const struct node brief[] = {
        ROOT, {0, "import", NULL, 0, NULL, 300, 300, 0, NULL}, LINE(0, 9, "work", 2700, 2700)};
    static const struct node longer[] = {
        ROOT, {0, "import", NULL, 0, NULL, 900, 900, 0, NULL}, LINE(0, 9, "work", 2100, 2100)};
    struct model *m = RUN(3, brief);
    assert_ok(answer(m));
    assert_int_equal(imports_of(m), 0);
    model_destroy(m);
    m = RUN(3, longer);
    assert_ok(answer(m));
    assert_int_equal(imports_of(m), 1);
    model_destroy(m);
}

static void a_function_of_many_equal_lines_is_told_as_a_whole(void **state)
{
    (void)state;
    static const struct node nodes[] = {
        ROOT,
        LINE(0, 90, "<module>", 0, 0),
        LINE(1, 40, "main", 0, 0),
        LINE(2, 10, "recon", 150, 150),
        LINE(2, 11, "recon", 150, 150),
        LINE(2, 12, "recon", 150, 150),
        LINE(2, 13, "recon", 150, 150),
        LINE(1, 41, "main", 0, 0),
        LINE(7, 20, "save", 400, 400),
    };
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "recon() (app.py:10 to 13) takes 60 % of the CPU time (0.6 of 1 s).");
    assert_string_equal(m->answers[1].text, "app.py:20 takes 40 % of the CPU time (0.4 of 1 s).");
    model_destroy(m);
}

static void branches_are_listed_in_place_of_the_line_above_them(void **state)
{
    (void)state;
    static const struct node nodes[] = {
        ROOT,
        LINE(0, 90, "<module>", 0, 0),
        LINE(1, 40, "main", 0, 0),
        LINE(2, 10, "load", 380, 380),
        LINE(1, 41, "main", 0, 0),
        LINE(4, 20, "recon", 0, 0),
        LINE(5, 30, "filter", 420, 420),
        LINE(4, 21, "recon", 0, 0),
        LINE(7, 33, "back", 200, 200),
    };
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "Three lines use most of the CPU time: app.py:30 (42 %), app.py:10 (38 %) and "
                   "app.py:33 (20 %) of 1 s.");
    assert_int_equal(m->answers_count, 3);
    assert_string_equal(m->answers[0].text, "app.py:30 takes 42 % of the CPU time (0.42 of 1 s).");
    model_destroy(m);
}

static void a_sleep_is_weighed_against_work_by_wall_time(void **state)
{
    (void)state;
    static const struct node asleep[] = {ROOT, WAIT(0, 4, "acquire", 2300, "sleep"),
                                         LINE(0, 9, "work", 1700, 1700)};
    static const struct node awake[] = {ROOT, WAIT(0, 4, "acquire", 1500, "sleep"),
                                        LINE(0, 9, "work", 2500, 2500)};
    /* two workers that compute in parallel: 5 s of CPU time are 1.7 s of the run */
    static const struct node parallel[] = {ROOT, WAIT(0, 4, "acquire", 2300, "io"),
                                           LINE(0, 9, "work", 5000, 1700)};
    struct model *m = RUN(4, asleep);
    assert_ok(answer(m));
    begins_with(m, "app.py:4 sleeps for 2.3 of the 4 s");
    assert_near(m->answers[0].gain_s, 2.3, 1e-9);
    assert_int_equal(m->answers[1].line, 9);
    model_destroy(m);
    m = RUN(4, awake);
    assert_ok(answer(m));
    begins_with(m, "app.py:9 takes 100 % of the CPU time");
    model_destroy(m);
    m = RUN(4, parallel);
    assert_ok(answer(m));
    begins_with(m, "app.py:4 waits for input or output for 2.3 of the 4 s");
    model_destroy(m);
}

static void a_line_that_merely_calls_is_not_the_answer(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        LINE(0, 90, "<module>", 20, 20),
                                        LINE(1, 40, "main", 30, 30),
                                        LINE(2, 12, "recon", 780, 780),
                                        LINE(2, 14, "recon", 100, 100),
                                        LINE(1, 41, "main", 70, 70)};
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "app.py:12 takes 78 % of the CPU time (0.78 of 1 s).");
    assert_near(m->answers[0].gain_s, 0.78, 1e-9);
    assert_int_equal(m->answers[0].line, 12);
    model_destroy(m);
}

/* Its CPU time is told too. */
static void a_wait_for_a_child_names_its_program(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, WAIT(0, 4, "main", 3000, "child"),
                                        LINE(0, 9, "work", 900, 900)};
    static const char *const told[] = {"app.py:4 waits for a child process for 3 of",
                                       "app.py:4 waits for `gzip` (2.9 s of CPU time) for 3 of",
                                       "app.py:4 waits for `gzip` (2 processes, 5 s of CPU time)"};
    for (int children = 0; children < 3; children++) {
        struct model *m = RUN(4, nodes);
        m->own[1].child = children ? "/usr/bin/gzip" : NULL;
        assert_ok(model_list(m, model_process, m, processes, (size_t)children + 1));
        for (int i = 0; i <= children; i++)
            m->processes[i] =
                (struct model_process){.program = i ? "/usr/bin/gzip" : "/usr/bin/python3",
                                       .cpu_s = i == 2 ? 2.1
                                                : i    ? 2.9
                                                       : 0.9};
        assert_ok(answer(m));
        begins_with(m, told[children]);
        model_destroy(m);
    }
}

/* The line came before, elsewhere, and waited for nothing there. */
static void the_node_that_waited_says_for_what(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 1, "early", 0, 0), LINE(1, 4, "main", 20, 20),
                                        WAIT(0, 4, "main", 3000, "child"),
                                        LINE(0, 9, "work", 900, 900)};
    struct model *m = RUN(4, nodes);
    assert_ok(answer(m));
    begins_with(m, "app.py:4 waits for a child process for 3 of");
    model_destroy(m);
}

/* The kernel tells how long a wait was, so few looks are enough to tell where. */
static void a_wait_of_a_third_of_a_second_is_told(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, WAIT(0, 4, "main", 300, "io"),
                                        LINE(0, 9, "work", 210, 210)};
    struct model *m = RUN(0.6, nodes);
    assert_ok(answer(m));
    begins_with(m, "app.py:4 waits for input or output for 0.3 of the 0.6 s");
    model_destroy(m);
}

/* Four threads wait for one lock, whose holder is at that line. */
static void add_contended_lock(struct model *m, int line)
{
    m->files[0].user = 1;
    assert_ok(model_list(m, model_contention, m, contention, 1));
    m->contention[0] = (struct model_contention){.threads = 4, .any_s = 3.5, .both_s = 3.5};
    assert_ok(model_list(m, model_lock, m, locks, 1));
    m->locks[0] = (struct model_lock){
        .kind = "semaphore", .role = "contention", .wait_s = 10, .file = "app.py", .line = 10};
    assert_ok(model_list(m, model_holder, &m->locks[0], holders, 1));
    m->locks[0].holders[0] = (struct model_holder){.file = "app.py", .line = line, .held_s = 10};
}

/* Its holder sleeps below the line that holds it, which explains the wait; elsewhere it does not. */
static void a_lock_that_is_held_across_a_wait_leads(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 11, "ask", 0, 0),
                                        WAIT(1, 5, "answer", 3600, "sleep"),
                                        LINE(0, 9, "work", 300, 300)};
    for (int under = 0; under < 2; under++) {
        struct model *m = RUN(4, nodes);
        add_contended_lock(m, under ? 11 : 30);
        assert_ok(model_list(m, model_finding, m, findings, 1));
        m->findings[0] =
            (struct model_finding){.id = "lock.asleep", .evidence = "4 threads.", .gain_s = 2.4};
        assert_ok(model_list(m, model_place, &m->findings[0], lines, 1));
        m->findings[0].lines[0] = (struct model_place){.file = "app.py", .line = under ? 11 : 30};
        assert_ok(answer(m));
        begins_with(m, under ? "4 threads." : "app.py:5 sleeps for 3.6 of the 4 s");
        model_destroy(m);
    }
}

/* Its holder at `line` computes, and a CPU is left for a second one: little could be saved. */
static void lock_is_beside(struct model *m, int line, const char *answer_begins)
{
    add_contended_lock(m, line);
    assert_ok(model_list(m, model_finding, m, findings, 2));
    m->findings[1] = (struct model_finding){
        .title = "Decoding", .evidence = "Much.", .advice = "Do.", .gain_s = 3.7};
    m->findings[0] =
        (struct model_finding){.id = "lock.contention", .evidence = "4 threads.", .gain_s = 0.5};
    assert_ok(model_list(m, model_place, &m->findings[0], lines, 1));
    m->findings[0].lines[0] = (struct model_place){.file = "app.py", .line = line};
    assert_ok(answer(m));
    begins_with(m, answer_begins);
    model_destroy(m);
}

/* Before what the line takes, which the lock explains nevertheless. */
static void a_lock_leads_before_the_line_that_holds_it(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 11, "decode", 3600, 3600),
                                        LINE(0, 9, "work", 900, 300)};
    lock_is_beside(RUN(4, nodes), 30, "app.py:11 takes 80 % of the CPU time");
    lock_is_beside(RUN(4, nodes), 11, "4 threads.");
}

/* The line after it takes as much: sometimes that is the function's largest. */
static void a_lock_leads_before_the_function_that_holds_it(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 11, "worker", 1700, 1700),
                                        LINE(0, 13, "worker", 1900, 1900),
                                        LINE(0, 9, "work", 900, 300)};
    lock_is_beside(RUN(4, nodes), 30, "worker() (app.py:11 to 13) takes 80 % of the CPU time");
    lock_is_beside(RUN(4, nodes), 11, "4 threads.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_leads_before_the_line_that_holds_it),
        cmocka_unit_test(a_lock_leads_before_the_function_that_holds_it),
        cmocka_unit_test(a_wait_for_a_child_names_its_program),
        cmocka_unit_test(a_wait_of_a_third_of_a_second_is_told),
        cmocka_unit_test(a_lock_that_is_held_across_a_wait_leads),
        cmocka_unit_test(the_imports_of_a_long_run_lead),
        cmocka_unit_test(an_import_inside_of_a_call_is_told_as_such),
        cmocka_unit_test(the_run_queue_changes_no_answer),
        cmocka_unit_test(a_flat_profile_says_so),
        cmocka_unit_test(a_dispatcher_is_not_the_answer),
        cmocka_unit_test(lambdas_are_not_one_function),
        cmocka_unit_test(work_of_a_pool_is_told_at_the_line_that_waits),
        cmocka_unit_test(imports_are_an_item_of_their_own),
        cmocka_unit_test(short_imports_of_the_interpreter_are_no_answer),
        cmocka_unit_test(a_function_of_many_equal_lines_is_told_as_a_whole),
        cmocka_unit_test(branches_are_listed_in_place_of_the_line_above_them),
        cmocka_unit_test(a_sleep_is_weighed_against_work_by_wall_time),
        cmocka_unit_test(a_line_that_merely_calls_is_not_the_answer),
        cmocka_unit_test(the_node_that_waited_says_for_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
