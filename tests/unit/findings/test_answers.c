/* links: tp_report */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/findings/own_case.h"
#include "profiler/findings/hotspots.h"
#include "profiler/report/text/text.h"

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
        m->own[1].child = n == 1 ? NULL : "/usr/lib/gcc/cc1plus";
        assert_ok(answer(m));
        begins_with(m, n == 1 ? "app.py:4 waits for a child process for 3 of the 4 s that the "
                                "program ran."
                              : "app.py:4 waits for `cc1plus` (2 processes, 3.5 s of CPU time) for "
                                "3 of the 4 s that the program ran.");
        model_destroy(m);
    }
}

/* V8 does not tell the names of its functions unless it is asked to. */
static void a_program_that_hides_its_lines_is_told_how_to_show_them(void **state)
{
    (void)state;
    static const struct node none[] = {ROOT};
    struct model *m = RUN(4, none);
    m->totals.cpu.samples = 400;
    processes_of(m, 1);
    assert_ok(answer(m));
    assert_string_equal(m->answers[0].advice,
                        "Look at all lines with `tomoprof report --libraries`.");
    m->processes[0].program = "/usr/bin/node";
    assert_ok(answer(m));
    assert_non_null(strstr(m->answers[0].advice, "node --perf-prof"));
    model_destroy(m);
}

static void the_line_of_an_event_loop_says_what_is_not_known(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, WAIT(0, 4, "<module>", 3000, "events")};
    static const char *const texts[] = {"asyncio.run(main())", "loop.run_until_complete(main())",
                                        "trio.run(main)", "select.select(sockets, [], [])"};
    for (int i = 0; i < 4; i++) {
        struct model *m = RUN(4, nodes);
        assert_ok(model_list(m, model_line, &m->files[0], lines, 1));
        m->files[0].lines[0].line = 4;
        m->files[0].lines[0].text = texts[i];
        assert_ok(answer(m));
        assert_true(!strstr(m->answers[0].advice, "Which coroutine waits could not be read") ==
                    (i == 3));
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
    assert_null(strstr(m->answers[0].text, "a library's line")); /* the program is the package */
    model_destroy(m);
    static const struct node both[] = {{-1, "run", NULL, 0, NULL, 960, 960, 0, NULL},
                                       LINE(0, 9, "start", 40, 40)};
    m = RUN(1, both);
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
    /* The own line is named where it has most of what the finding counts. */
    assert_ok(model_list(m, model_place, &m->findings[0], lines, 2));
    for (int most = 0; most < 2; most++) {
        m->findings[0].lines[0] = (struct model_place){.file = "app.py", .line = 7, .value = 1};
        m->findings[0].lines[1] =
            (struct model_place){.file = "lib.py", .line = 1, .value = most ? 0.5 : 2};
        assert_ok(answer(m));
        assert_string_equal(m->answers[1].text,
                            most ? "Large (app.py:7): Evidence." : "Large: Evidence.");
    }
    model_destroy(m);
}

/* Code without a name explains nothing, where a finding does. */
static void a_finding_goes_before_code_without_a_name(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, {0, "code", NULL, 0, NULL, 1000, 1000, 0, NULL}};
    struct model *m = RUN(3, nodes);
    m->own[0].module = NULL;
    assert_ok(answer(m));
    begins_with(m, "unknown code (prog) takes 100 %");
    assert_ok(model_list(m, model_finding, m, findings, 1));
    m->findings[0] = (struct model_finding){
        .title = "Small reads", .evidence = "Many.", .advice = "Do.", .gain_s = 0.5};
    assert_ok(answer(m));
    begins_with(m, "unknown code (prog) takes 100 %"); /* it could save a sixth */
    m->findings[0].gain_s = 0.9;
    assert_ok(answer(m));
    begins_with(m, "Small reads: Many.");
    assert_string_equal(m->answers[1].kind, "cpu");
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
    assert_ok(report_text(m, out, &(struct text_view){.width = 100, .colour = 0, .top = 5}));
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\n  Fixing this saves up to 1 s of CPU time."));
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
    assert_ok(report_text(m, out, &(struct text_view){.width = 100, .colour = 0, .top = 5}));
    assert_int_equal(fclose(out), 0);
    const char *at = strstr(
        text, "app.py:9 takes 100 % of the CPU time (1 of 1 s).\n  Fixing this saves up to 1 s.");
    assert_non_null(at);
    assert_true(at < text + 200);
    free(text);
    model_destroy(m);
}

/* Some sentences end with a command, and have no full stop. */
static void a_sentence_ends_before_its_gain(void **state)
{
    (void)state;
    static const struct node nodes[] = {ROOT, LINE(0, 9, "work", 1000, 1000)};
    struct model *m = RUN(3, nodes);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_ok(answer(m));
    m->headline = "Two lines take the time.";
    m->answers[0].text = "app.py:9 takes it; try it: tomoprof try latest";
    assert_ok(report_text(m, out, &(struct text_view){.width = 100, .colour = 0, .top = 5}));
    assert_int_equal(fclose(out), 0);
    assert_non_null(
        strstr(text, "\n  app.py:9 takes it; try it: tomoprof try latest. Fixing this"));
    free(text);
    model_destroy(m);
}

static void terminal_lines_end_between_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrapped;
    } rows[] = {
        {"  Fixing this saves up to 0.35 s. Do less.",
         "  Fixing this saves\n    up to 0.35 s. Do\n    less.\n"},
        {"one line", "one line\n"},
        {"", "\n"},
        {"a_word_that_is_wider_than_the_line b", "a_word_that_is_wider_than_the_line\n    b\n"},
        {"\033[1mbold words take\033[0m none", "\033[1mbold words take\033[0m none\n"},
        {"µ µ µ µ µ µ µ µ µ µ 9", "µ µ µ µ µ µ µ µ µ µ\n    9\n"},
        {"takes 45 % of 1234567 s", "takes 45 % of\n    1234567 s\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        assert_non_null(out);
        text_wrapped(out, rows[i].text, 20, 4);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, rows[i].wrapped);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_ends_before_its_gain),
        cmocka_unit_test(terminal_lines_end_between_words),
        cmocka_unit_test(a_helper_of_many_callers_adds_up),
        cmocka_unit_test(lines_that_call_each_other_end),
        cmocka_unit_test(a_recursion_counts_once),
        cmocka_unit_test(programs_without_own_lines_are_named),
        cmocka_unit_test(a_program_that_hides_its_lines_is_told_how_to_show_them),
        cmocka_unit_test(the_line_of_an_event_loop_says_what_is_not_known),
        cmocka_unit_test(few_samples_name_no_line),
        cmocka_unit_test(what_main_does_itself_is_told_beside_its_branches),
        cmocka_unit_test(without_lines_a_function_is_named),
        cmocka_unit_test(code_of_others_is_named_as_such),
        cmocka_unit_test(findings_become_cards_by_what_they_save),
        cmocka_unit_test(a_finding_goes_before_code_without_a_name),
        cmocka_unit_test(a_gain_of_a_run_of_unknown_length_is_cpu_time),
        cmocka_unit_test(the_terminal_begins_with_the_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
