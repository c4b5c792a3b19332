/* links: tp_analyze */
/* Threads whose waits are known: what the whole takes when a line of them is faster. */
#include <string.h>

#include "tests/unit/check.h"
#include "profiler/analyze/what_if/what_if.h"

#define MS 1000000ull
enum { LINE = 1, OTHER, JOINS, TAKES, LINES };

struct story {
    struct run run;
    struct model model;
    struct analyze_options options;
    struct what_if ask;
};

static void story_begin(struct story *s, double factor)
{
    memset(s, 0, sizeof *s);
    s->ask = (struct what_if){.file = "program.py", .line = LINE, .factor = factor};
    s->options.what_if = &s->ask;
    s->run.options = &s->options;
    s->run.m = &s->model;
    s->model.meta.wait_hz = 1000;
    s->run.last = 1000 * MS;
    assert_int_equal(vector_add(&s->run.sources, (struct source){.path = "work/program.py"}),
                     ERR_OK);
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(vector_add(&s->run.sites, (struct site){.line = i}), ERR_OK);
        assert_int_equal(
            vector_add(&s->run.own,
                       (struct own_node){.parent = TABLE_NONE, .site = i, .kind = "code"}),
            ERR_OK);
    }
}

static void story_process(struct story *s, uint64_t start, uint64_t end)
{
    struct model_process p = {.start_s = 1e-3 * (double)start, .end_s = 1e-3 * (double)end};
    assert_int_equal(vector_add(&s->run.processes, p), ERR_OK);
    struct model_thread t = {.process = (int)s->run.processes.count - 1, .main = 1};
    assert_int_equal(vector_add(&s->run.threads, t), ERR_OK);
}

static void story_thread(struct story *s)
{
    struct model_thread t = {.process = (int)s->run.processes.count - 1};
    assert_int_equal(vector_add(&s->run.threads, t), ERR_OK);
}

/* The thread is at a line; `waits` < 0: on a CPU. */
static void story_at(struct story *s, int thread, uint64_t start, uint64_t end, int line, int waits)
{
    const struct moment_of m = {.start = start * MS,
                                .end = end * MS,
                                .busy = (end - start) * MS,
                                .own = (uint32_t)line,
                                .process = s->run.threads.items[thread].process,
                                .thread = thread,
                                .waiting = waits >= 0,
                                .waits = waits >= 0 ? (enum waits_for)waits : WAITS_READY};
    assert_int_equal(vector_add(&s->run.moments, m), ERR_OK);
    (waits >= 0 ? &s->run.own.items[line].path_wait[waits] : &s->run.own.items[line].path_cpu)[0] +=
        (double)m.busy;
}

static void story_lock(struct story *s, int thread, uint64_t start, uint64_t end)
{
    const struct lock_span w = {.start = start * MS,
                                .end = end * MS,
                                .address = 64,
                                .thread = thread,
                                .holder = -1,
                                .taken = 1};
    assert_int_equal(vector_add(&s->run.locks.spans, w), ERR_OK);
}

static double story_end(struct story *s)
{
    const enum err e = what_if_answer(&s->run);
    vector_free(&s->run.sources);
    vector_free(&s->run.sites);
    vector_free(&s->run.own);
    vector_free(&s->run.processes);
    vector_free(&s->run.threads);
    vector_free(&s->run.moments);
    vector_free(&s->run.locks.spans);
    assert_int_equal(e, ERR_OK);
    assert_near(s->ask.before_s, 1, 1e-9);
    assert_near(s->ask.replayed_s, 1, 0.02); /* as it was, it takes what it took */
    return s->ask.after_s;
}

static void line_alone_is_the_bound(void **state)
{
    (void)state;
    struct story s;
    story_begin(&s, 0.5);
    story_process(&s, 0, 1000);
    story_at(&s, 0, 0, 600, LINE, -1);
    story_at(&s, 0, 600, 1000, OTHER, WAITS_SLEEP);
    assert_near(story_end(&s), 0.7, 0.001);
    assert_near(s.ask.path_s, 0.6, 1e-9);
}

static void callee_counts_and_slower_is_longer(void **state)
{
    (void)state;
    struct story s;
    story_begin(&s, 2);
    story_process(&s, 0, 1000);
    s.run.own.items[OTHER].parent = LINE;
    story_at(&s, 0, 0, 100, OTHER, -1);
    story_at(&s, 0, 100, 1000, JOINS, -1);
    assert_near(story_end(&s), 1.1, 0.001);
}

/* The main thread waits for two; the other one becomes the longer. */
static void other_thread_becomes_the_longest(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct story s;
        story_begin(&s, k ? 0.8 : 0.1);
        story_process(&s, 0, 1000);
        story_thread(&s);
        story_thread(&s);
        story_at(&s, 0, 0, 10, OTHER, -1);
        story_at(&s, 0, 10, 900, JOINS, WAITS_LOCK);
        story_at(&s, 1, 10, 900, LINE, -1);
        story_at(&s, 2, 10, 610, OTHER, WAITS_SLEEP);
        story_at(&s, 0, 900, 1000, OTHER, -1);
        assert_near(story_end(&s), k ? 0.11 + 0.8 * 0.89 : 0.71, 0.003);
    }
}

/* Two threads hold one lock in turns: the line is inside of it, or outside. */
static void lock_bounds_the_threads(void **state)
{
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        struct story s;
        story_begin(&s, 0.5);
        story_process(&s, 0, 1000);
        story_thread(&s);
        story_thread(&s);
        story_at(&s, 0, 0, 1000, JOINS, WAITS_LOCK);
        for (uint64_t at = 0; at < 1000; at += 100) { /* one holds it for 50 ms, then works 30 ms */
            story_at(&s, 1, at, at + 50, inside ? LINE : OTHER, WAITS_SLEEP);
            story_at(&s, 1, at + 50, at + 80, inside ? OTHER : LINE, WAITS_SLEEP);
            story_lock(&s, 1, at + 80, at + 100);
            if (at)
                story_at(&s, 2, at, at + 30, inside ? OTHER : LINE, WAITS_SLEEP);
            story_lock(&s, 2, at ? at + 30 : 0, at + 50);
            story_at(&s, 2, at + 50, at + 100, inside ? LINE : OTHER, WAITS_SLEEP);
        }
        assert_near(story_end(&s), inside ? 0.55 : 0.98, 0.06);
    }
}

/* Makes items in one thread and takes them in the other: the slower one counts. */
static void pipeline_takes_its_slowest_part(void **state)
{
    (void)state;
    struct story s;
    story_begin(&s, 0.2);
    story_process(&s, 0, 1000);
    story_thread(&s);
    for (uint64_t at = 0; at < 1000; at += 50) {
        story_at(&s, 1, at, at + 50, LINE, WAITS_SLEEP);
        story_at(&s, 0, at, at + 20, TAKES, WAITS_LOCK);
        story_at(&s, 0, at + 20, at + 50, OTHER, -1);
    }
    assert_near(story_end(&s), 0.6, 0.03);
}

static void child_is_waited_for(void **state)
{
    (void)state;
    struct story s;
    story_begin(&s, 0.5);
    story_process(&s, 0, 1000);
    story_at(&s, 0, 0, 800, JOINS, WAITS_CHILD);
    story_at(&s, 0, 800, 1000, OTHER, -1);
    story_process(&s, 0, 800);
    story_at(&s, 1, 0, 800, LINE, -1);
    assert_near(story_end(&s), 0.6, 0.01);
}

/* Nobody of the run ends the wait: it stays as long as it is, and can be the line itself. */
static void waits_for_others_outside_stay(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct story s;
        story_begin(&s, 0.5);
        story_process(&s, 0, 1000);
        story_at(&s, 0, 0, 400, k ? OTHER : LINE, -1);
        story_at(&s, 0, 400, 1000, k ? LINE : OTHER, WAITS_IO);
        assert_near(story_end(&s), k ? 0.7 : 0.8, 0.001);
    }
}

static void unknown_line_is_refused(void **state)
{
    (void)state;
    struct story s;
    story_begin(&s, 0.5);
    story_process(&s, 0, 1000);
    story_at(&s, 0, 0, 1000, OTHER, -1);
    s.ask.file = "gram.py"; /* of a name, not of a path */
    assert_int_equal(what_if_answer(&s.run), ERR_INPUT);
    s.ask.file = "program.py";
    (void)story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_alone_is_the_bound),
        cmocka_unit_test(callee_counts_and_slower_is_longer),
        cmocka_unit_test(other_thread_becomes_the_longest),
        cmocka_unit_test(lock_bounds_the_threads),
        cmocka_unit_test(pipeline_takes_its_slowest_part),
        cmocka_unit_test(child_is_waited_for),
        cmocka_unit_test(waits_for_others_outside_stay),
        cmocka_unit_test(unknown_line_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
