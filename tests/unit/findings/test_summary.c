/* links: tp_report */
#include <stdio.h>

#include "tests/unit/check.h"
#include "profiler/analyze/analyze.h"
#include "profiler/findings/functions.h"
#include "profiler/report/text/text.h"

/* 4 s of wall time, `cpu` of CPU time: two stacks end in fast of a.so, one each in fast of b.so and
 * in an unknown function; load.py:7 waited `wait`. */
static struct model *run_of(double cpu, double wait, double without_lines)
{
    struct model *m;
    assert_ok(model_create(&m));
    m->meta.wall_s = 4;
    m->totals.cpu.user = cpu;
    m->totals.cpu.sys = 0;
    m->totals.wait.runnable = 0;
    m->quality.unattributed_cpu_share = without_lines;
    assert_ok(model_list(m, model_fact, m, environment, 1));
    m->environment[0] = (struct model_fact){"launcher.cpus", "8"};
    assert_ok(model_list(m, model_frame, m, frames, 3));
    m->frames[0].function = m->frames[1].function = "fast";
    m->frames[0].module = "/opt/a.so";
    m->frames[1].module = "b.so";
    assert_ok(model_list(m, model_stack, m, stacks, 4));
    static const struct model_stack stacks[] = {
        {-1, 0, 1000000000, 0, 0, 0, 0},
        {0, 1, 1500000000, 0, 0, 0, 0},
        {1, 0, 1000000000, 0, 0, 0, 0},
        {0, 2, 500000000, 0, 0, 0, 0},
    };
    memcpy(m->stacks, stacks, sizeof stacks);
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "load.py";
    assert_ok(model_list(m, model_line, &m->files[0], lines, 1));
    m->files[0].lines[0].line = 7;
    m->files[0].lines[0].cpu.wait = wait;
    return m;
}

static void it_waits_when_it_works_less_than_half_of_its_time(void **state)
{
    (void)state;
    struct model *m = run_of(1.9, 2, 0);
    assert_true(summary_waits(m));
    m->totals.wait.runnable = 0.2; /* ready, but other programs had the CPUs */
    assert_false(summary_waits(m));
    m->totals.wait.runnable = 0;
    m->totals.gpu_sum_s = 1; /* a GPU worked meanwhile */
    assert_false(summary_waits(m));
    model_destroy(m);
}

static void functions_are_those_of_a_module_most_expensive_first(void **state)
{
    (void)state;
    struct model *m = run_of(4, 0, 0.6);
    struct function_row *rows;
    size_t n;
    assert_true(summary_lacks_lines(m));
    assert_ok(functions_find(m, &rows, &n));
    assert_int_equal(n, 3);
    assert_string_equal(rows[0].name, "fast");
    assert_string_equal(rows[0].place, "a.so");
    assert_near(rows[0].self_s, 2, 1e-12);
    assert_near(rows[0].incl_s, 4, 1e-12); /* its frame below itself counts once */
    assert_int_equal(rows[0].callers_count, 0);
    assert_string_equal(rows[1].place, "b.so");
    assert_near(rows[1].incl_s, 2.5, 1e-12);
    assert_string_equal(rows[2].name, "[unknown]");
    assert_near(rows[2].self_s, 0.5, 1e-12);
    free(rows);
    m->quality.unattributed_cpu_share = 0.4;
    assert_false(summary_lacks_lines(m));
    model_destroy(m);
}

/* leaf is called by five functions of main for 5, 4, 3, 2 and 1 s, the first through a node without
 * a frame; even and odd call each other, 1 s in each of 1000 frames. Of
 * those that only call, own code alone is a row. */
static void callers_are_those_that_spend_most_there(void **state)
{
    (void)state;
    enum { MAIN, LEAF, EVEN, ODD, FIRST, FRAMES = FIRST + 5, DEEP = 1000 };
    static const char *const names[FRAMES] = {"main", "leaf", "even", "odd", "a",
                                              "b",    "c",    "d",    "e"};
    const int64_t s = 1000000000;
    struct model *m;
    struct function_row *rows;
    size_t n;
    int at = 1;
    assert_ok(model_create(&m));
    assert_ok(model_list(m, model_frame, m, frames, FRAMES));
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "own.c";
    m->files[0].user = 1;
    for (int i = 0; i < FRAMES; i++) {
        m->frames[i].function = names[i];
        m->frames[i].file =
            i == FIRST + 4 ? "library.c" : "own.c"; /* e, which does nothing itself */
    }
    assert_ok(model_list(m, model_stack, m, stacks, 12 + DEEP));
    m->stacks[0] = (struct model_stack){-1, MAIN, s, 0, 0, 0, 0};
    for (int i = 0; i < 5; i++) {
        m->stacks[at++] = (struct model_stack){0, FIRST + i, 0, 0, 0, 0, 0};
        if (!i)
            m->stacks[at++] = (struct model_stack){1, -1, 0, 0, 0, 0, 0};
        m->stacks[at] = (struct model_stack){at - 1, LEAF, (5 - i) * s, 0, 0, 0, 0};
        at++;
    }
    for (int i = 0; i < DEEP; i++, at++)
        m->stacks[at] = (struct model_stack){i ? at - 1 : 0, i % 2 ? ODD : EVEN, s, 0, 0, 0, 0};
    assert_ok(functions_find(m, &rows, &n));
    assert_int_equal(n, FRAMES - 1);
    const struct function_row *even = &rows[0], *odd = &rows[1], *leaf = &rows[2], *top = &rows[3];
    assert_string_equal(even->name, "even");
    assert_near(even->self_s, 500, 1e-9);
    assert_near(even->incl_s, 1000, 1e-9);
    assert_int_equal(even->callers_count, 1);
    assert_string_equal(even->callers[0].name, "main");
    assert_near(odd->incl_s, 999, 1e-9);
    assert_string_equal(odd->callers[0].name, "even");
    assert_near(leaf->self_s, 15, 1e-9);
    assert_int_equal(leaf->callers_count, FUNCTION_CALLERS);
    for (int i = 0; i < FUNCTION_CALLERS; i++) {
        assert_string_equal(leaf->callers[i].name, names[FIRST + i]);
        assert_near(leaf->callers[i].share, (5 - i) / 15.0, 1e-9);
    }
    assert_string_equal(top->name, "main");
    assert_near(top->incl_s, 1016, 1e-9);
    assert_int_equal(top->callers_count, 0);
    free(rows);
    model_destroy(m);
}

static void the_terminal_shows_functions_waits_and_processors(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    struct model *m = run_of(1, 2.5, 0.9);
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_ok(report_text(m, out, &(struct text_view){.width = 100, .colour = 0, .top = 5}));
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, " on 0.25 of 8 CPUs"));
    assert_non_null(strstr(text, "2.50         -  load.py:7"));
    assert_non_null(strstr(text, "fast (a.so)"));
    assert_non_null(strstr(text, "fast 100 %")); /* called by */
    free(text);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_when_it_works_less_than_half_of_its_time),
        cmocka_unit_test(functions_are_those_of_a_module_most_expensive_first),
        cmocka_unit_test(callers_are_those_that_spend_most_there),
        cmocka_unit_test(the_terminal_shows_functions_waits_and_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
