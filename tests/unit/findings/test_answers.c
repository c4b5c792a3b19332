/* links: tp_report */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"
#include "profiler/findings/answers.h"
#include "profiler/findings/hotspots.h"
#include "profiler/report/text/text.h"

#define MS 1000000

/* A node of the tree of own code: milliseconds of CPU time, of wall time computing and waiting. */
struct node {
    int parent;
    const char *kind, *file;
    int line;
    const char *function;
    int cpu, path, wait;
    const char *waits_for;
};

/* A run of `wall` s whose own code is `nodes`; its CPU time is theirs, 100 samples a second. */
static struct model *run_of(double wall, const struct node *nodes, int n)
{
    struct model *m;
    double cpu = 0;
    assert_ok(model_create(&m));
    assert_ok(model_list(m, model_own, m, own, (size_t)n));
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "app.py";
    m->files[0].language = "python";
    for (int i = 0; i < n; i++) {
        const struct node *from = &nodes[i];
        struct model_own *o = &m->own[i];
        *o = (struct model_own){.parent = from->parent,
                                .kind = from->kind,
                                .file = from->file,
                                .line = from->line,
                                .function = from->function,
                                .module = from->file ? NULL : "/home/me/prog",
                                .cpu_ns = (int64_t)from->cpu * MS,
                                .path_cpu_ns = (int64_t)from->path * MS,
                                .path_wait_ns = (int64_t)from->wait * MS,
                                .wait_ns = (int64_t)from->wait * MS,
                                .waits_for = from->waits_for};
        cpu += 1e-3 * from->cpu;
    }
    m->meta.wall_s = wall;
    m->meta.wait_hz = 20;
    m->totals.cpu.user = cpu;
    m->totals.cpu.sys = 0;
    m->totals.cpu.samples = (int64_t)(100 * cpu);
    return m;
}
#define RUN(wall, nodes) run_of(wall, nodes, (int)(sizeof nodes / sizeof *nodes))

#define ROOT                                                                                       \
    {                                                                                              \
        -1, "run", NULL, 0, NULL, 0, 0, 0, NULL                                                    \
    }
#define LINE(parent, line, function, cpu, path)                                                    \
    {                                                                                              \
        parent, "code", "app.py", line, function, cpu, path, 0, NULL                               \
    }
#define WAIT(parent, line, function, ms, how)                                                      \
    {                                                                                              \
        parent, "code", "app.py", line, function, 0, 0, ms, how                                    \
    }

/* Answers of a model with the findings that a test gave it. */
static enum err answer(struct model *m)
{
    struct run_facts facts;
    run_facts_of(m, &facts);
    return answers_add(m, &facts);
}

static void begins_with(const struct model *m, const char *text)
{
    if (strncmp(m->headline, text, strlen(text)))
        fail_msg("\"%s\" does not begin with \"%s\"", m->headline, text);
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

static void a_function_of_many_equal_lines_is_told_by_its_caller(void **state)
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
    begins_with(m, "app.py:40 takes 60 % of the CPU time");
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
    begins_with(m,
                "The CPU time divides: app.py:30 takes 42 %, app.py:10 takes 38 %, app.py:33 takes "
                "20 % of 1 s.");
    assert_int_equal(m->answers_count, 3);
    assert_string_equal(m->answers[0].text, "app.py:30 takes 42 % of the CPU time (0.42 of 1 s).");
    model_destroy(m);
}

static void a_helper_of_many_callers_adds_up(void **state)
{
    (void)state;
    static const struct node nodes[] = {
        ROOT,
        LINE(0, 1, "<module>", 0, 0),
        LINE(1, 7, "normalise", 250, 250),
        LINE(0, 2, "<module>", 100, 100),
        LINE(3, 7, "normalise", 250, 250),
        LINE(0, 3, "<module>", 150, 150),
        LINE(5, 7, "normalise", 250, 250),
    };
    struct hotspots hot;
    struct model *m = RUN(1, nodes);
    assert_ok(hotspots_find(m, HOTSPOTS_CPU, &hot));
    assert_int_equal(hot.found[0].at->line, 7);
    assert_near(hot.found[0].ns, 750.0 * MS, 1);
    double sum = 0;
    for (int i = 0; i < hot.count; i++)
        sum += hot.found[i].ns;
    assert_true(sum <= 1000.0 * MS);
    model_destroy(m);
}

/* Once it went down from one to the other until the stack was full. */
static void lines_that_call_each_other_end(void **state)
{
    (void)state;
    static const struct node nodes[] = {
        ROOT,
        LINE(0, 1, "<module>", 0, 0),
        LINE(1, 10, "even", 50, 50),
        LINE(2, 20, "odd", 400, 400),
        LINE(3, 10, "even", 450, 450),
        LINE(4, 20, "odd", 100, 100),
    };
    struct hotspots hot;
    struct model *m = RUN(1, nodes);
    assert_ok(hotspots_find(m, HOTSPOTS_CPU, &hot));
    assert_true(hot.count >= 1);
    double all = 0;
    for (int i = 0; i < hot.count; i++)
        all += hot.found[i].ns;
    assert_true(all <= 1000.0 * MS + 1);
    assert_true(all >= 800.0 * MS);
    model_destroy(m);
}

/* Each level of a recursion is on the way up: its time counts once. */
static void a_recursion_counts_once(void **state)
{
    (void)state;
    static const struct node nodes[] = {
        ROOT,
        LINE(0, 1, "<module>", 0, 0),
        LINE(1, 5, "walk", 100, 100),
        LINE(2, 5, "walk", 100, 100),
        LINE(3, 5, "walk", 200, 200),
        LINE(1, 9, "save", 600, 600),
    };
    struct hotspots hot;
    struct model *m = RUN(1, nodes);
    assert_ok(hotspots_find(m, HOTSPOTS_CPU, &hot));
    assert_int_equal(hot.count, 2);
    assert_int_equal(hot.found[0].at->line, 9);
    assert_near(hot.found[0].ns, 600.0 * MS, 1);
    assert_near(hot.found[1].ns, 400.0 * MS, 1);
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

static void imports_are_an_item_of_their_own(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        LINE(0, 3, "<module>", 0, 0),
                                        {1, "import", NULL, 0, NULL, 1900, 1800, 100, NULL},
                                        LINE(0, 9, "work", 1500, 1500)};
    struct model *m = RUN(4, nodes);
    assert_ok(answer(m));
    begins_with(m,
                "Start-up takes 1.9 of the 4 s: Python imports modules, most of them at app.py:3.");
    begins_with(m, "Start-up");
    assert_int_equal(m->answers[1].line, 9);
    assert_near(m->answers[1].share, 1.5 / 3.4, 1e-9); /* of all CPU time */
    model_destroy(m);
}

static int imports_of(const struct model *m)
{
    int n = 0;
    for (int i = 0; i < m->answers_count; i++)
        n += !strncmp(m->answers[i].text, "Start-up", 8);
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

static void processes_of(struct model *m, int n)
{
    static const struct {
        const char *program;
        double cpu;
    } all[] = {{"/usr/bin/make", 0.5},
               {"/usr/lib/gcc/cc1plus", 2},
               {"/usr/bin/as", NAN},
               {"/usr/lib/gcc/cc1plus", 1.5}};
    assert_ok(model_list(m, model_process, m, processes, (size_t)n));
    for (int i = 0; i < n; i++) {
        m->processes[i].program = all[i].program;
        m->processes[i].cpu_s = all[i].cpu;
    }
}

static void programs_without_own_lines_are_named(void **state)
{
    (void)state;
    static const struct node none[] = {ROOT};
    static const struct node child[] = {ROOT, WAIT(0, 4, "build", 3000, "child")};
    for (int n = 1; n <= 4; n += 3) {
        struct model *m = RUN(4, none);
        m->totals.cpu.samples = 400;
        processes_of(m, n);
        assert_ok(answer(m));
        begins_with(
            m, n == 4 ? "No own line took a large part of the time: cc1plus used 3.5 of the 4 s"
                      : "No own line took a large part of the time: make used 0.5 of the 0.5 s");
        model_destroy(m);
        m = RUN(4, child);
        processes_of(m, n);
        assert_ok(answer(m));
        begins_with(m, "app.py:4 waits for a child process for 3 of the 4 s that the program ran.");
        assert_true(!strstr(m->headline, "cc1plus used 3.5 of the 4 s of CPU time.") == (n == 1));
        assert_null(strstr(m->headline, "make"));
        model_destroy(m);
    }
}

static void the_line_of_an_event_loop_says_what_is_not_known(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, WAIT(0, 4, "<module>", 3000, "events")};
    static const char *const texts[] = {"asyncio.run(main())", "loop.run_until_complete(main())",
                                        "select.select(sockets, [], [])"};
    for (int i = 0; i < 3; i++) {
        struct model *m = RUN(4, nodes);
        assert_ok(model_list(m, model_line, &m->files[0], lines, 1));
        m->files[0].lines[0].line = 4;
        m->files[0].lines[0].text = texts[i];
        assert_ok(answer(m));
        assert_true(!strstr(m->answers[0].advice, "Which coroutine waits could not be read") ==
                    (i == 2));
        model_destroy(m);
    }
}

static void few_samples_name_no_line(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 9, "work", 190, 190)};
    static const struct node enough[] = {ROOT, LINE(0, 9, "work", 200, 200)};
    struct model *m = RUN(0.2, nodes);
    assert_ok(answer(m));
    static const struct node none[] = {ROOT};
    struct model *idle = RUN(0.2, none);
    assert_ok(answer(idle));
    begins_with(idle, "No CPU sample was taken");
    model_destroy(idle);
    begins_with(m, "Only 19 CPU samples were taken: too few to name a hotspot.");
    assert_null(m->answers[0].file);
    assert_non_null(strstr(m->answers[0].advice, "--rate 1000"));
    model_destroy(m);
    m = RUN(0.2, enough);
    assert_ok(answer(m));
    begins_with(m, "app.py:9 takes 100 %");
    model_destroy(m);
}

static void what_main_does_itself_is_told_beside_its_branches(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        {0, "code", NULL, 0, "main", 650, 650, 0, NULL},
                                        {1, "code", NULL, 0, "smooth", 350, 350, 0, NULL}};
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "main (prog) takes 65 % of the CPU time");
    assert_string_equal(m->answers[1].function, "smooth");
    assert_near(m->answers[1].share, 0.35, 1e-9);
    model_destroy(m);
}

static void without_lines_a_function_is_named(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT,
                                        {0, "code", NULL, 0, "main", 10, 10, 0, NULL},
                                        {1, "code", NULL, 0, "waves", 900, 900, 0, NULL},
                                        {1, "code", NULL, 0, "sorts", 90, 90, 0, NULL}};
    struct model *m = RUN(1, nodes);
    assert_ok(answer(m));
    begins_with(m, "waves (prog) takes 90 % of the CPU time");
    assert_non_null(strstr(m->answers[0].advice, "-g"));
    model_destroy(m);
}

static void code_of_others_is_named_as_such(void **state)
{
    (void)state;
    static const struct node nodes[] = {{-1, "run", NULL, 0, NULL, 1000, 1000, 0, NULL}};
    struct model *m = RUN(1, nodes);
    assert_ok(model_list(m, model_line, &m->files[0], lines, 1));
    m->files[0].path = "site-packages/pkg/x.py";
    m->files[0].lines[0].line = 3;
    m->files[0].lines[0].cpu.user = 0.6;
    assert_ok(answer(m));
    begins_with(m, "site-packages/pkg/x.py:3 takes 60 % of the CPU time");
    assert_non_null(strstr(m->answers[0].text, "a library's line"));
    model_destroy(m);
}

static void findings_become_cards_by_what_they_save(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 9, "work", 1000, 1000)};
    struct model *m = RUN(3, nodes);
    assert_ok(model_list(m, model_finding, m, findings, 3));
    for (int i = 0; i < 3; i++)
        m->findings[i] = (struct model_finding){.title = i ? "Small" : "Large",
                                                .evidence = "Evidence.",
                                                .advice = "Do.",
                                                .gain_s = i == 1 ? 0.1 : 1.5};
    m->files[0].user = 1;
    assert_ok(model_list(m, model_place, &m->findings[2], lines, 2));
    m->findings[2].lines[0] = (struct model_place){.file = "<frozen codecs>", .line = 1};
    m->findings[2].lines[1] = (struct model_place){.file = "app.py", .line = 9}; /* its own line */
    assert_ok(answer(m));
    begins_with(m, "app.py:9 takes 100 %"); /* the headline is a line */
    assert_int_equal(m->answers_count, 2);  /* 0.1 of 3 s is not a card; line 9 has one */
    assert_string_equal(m->answers[1].text, "Large: Evidence.");
    assert_near(m->answers[1].gain_s, 1.5, 1e-9);
    model_destroy(m);
}

/* Captures of other tools hold costs of stacks, and some no times. */
static void a_gain_of_a_run_of_unknown_length_is_cpu_time(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 9, "work", 1000, 1000)};
    struct model *m = RUN(3, nodes);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    m->meta.wall_s = NAN;
    assert_ok(answer(m));
    assert_ok(report_text(m, out, 100, 0, 5));
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\n  At most 1 s of CPU time can be saved."));
    assert_null(strstr(text, "nan"));
    free(text);
    model_destroy(m);
}

static void the_terminal_begins_with_the_answers(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 9, "work", 1000, 1000)};
    struct model *m = RUN(3, nodes);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_ok(answer(m));
    assert_ok(report_text(m, out, 100, 0, 5));
    assert_int_equal(fclose(out), 0);
    const char *at = strstr(
        text,
        "app.py:9 takes 100 % of the CPU time (1 of 1 s).\n  At most 1 s of 3 s can be saved.");
    assert_non_null(at);
    assert_true(at < text + 200);
    free(text);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_that_merely_calls_is_not_the_answer),
        cmocka_unit_test(a_function_of_many_equal_lines_is_told_by_its_caller),
        cmocka_unit_test(branches_are_listed_in_place_of_the_line_above_them),
        cmocka_unit_test(a_helper_of_many_callers_adds_up),
        cmocka_unit_test(lines_that_call_each_other_end),
        cmocka_unit_test(a_recursion_counts_once),
        cmocka_unit_test(a_sleep_is_weighed_against_work_by_wall_time),
        cmocka_unit_test(imports_are_an_item_of_their_own),
        cmocka_unit_test(short_imports_of_the_interpreter_are_no_answer),
        cmocka_unit_test(programs_without_own_lines_are_named),
        cmocka_unit_test(the_line_of_an_event_loop_says_what_is_not_known),
        cmocka_unit_test(few_samples_name_no_line),
        cmocka_unit_test(what_main_does_itself_is_told_beside_its_branches),
        cmocka_unit_test(without_lines_a_function_is_named),
        cmocka_unit_test(code_of_others_is_named_as_such),
        cmocka_unit_test(findings_become_cards_by_what_they_save),
        cmocka_unit_test(a_gain_of_a_run_of_unknown_length_is_cpu_time),
        cmocka_unit_test(the_terminal_begins_with_the_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
