/* links: tp_report */
/* Tests which lock the finding names, and that none is named where nobody knows who holds it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/findings.h"
#include "profiler/report/text/text.h"
#include "tests/unit/check.h"

/* 10 s in which two threads of four could run, held up for `waits` s by a lock of each kind. */
static struct model *run_of(const char *kind, double waits, int holders)
{
    struct model *m;
    assert_ok(model_create(&m));
    m->meta.wall_s = 10;
    assert_ok(model_list(m, model_contention, m, contention, 1));
    m->contention[0] = (struct model_contention){.threads = 4,
                                                 .wait_s = waits,
                                                 .any_s = 9,
                                                 .both_s = 9,
                                                 .ran = 1,
                                                 .on_cpu = 1,
                                                 .wanted = 4,
                                                 .python_share = 1};
    assert_ok(model_list(m, model_lock, m, locks, 2));
    for (int i = 0; i < 2; i++) {
        struct model_lock *l = &m->locks[i];
        l->process = 0;
        l->kind = i ? kind : "gil";
        l->role = "contention";
        l->waits = l->threads = 4;
        l->wait_s = i ? waits : 1;
        l->file = "load.py";
        l->line = 7;
        assert_ok(model_list(m, model_holder, l, holders, 1));
        l->holders_count = i ? holders : 1;
        l->holders[0].function = i ? "fill" : "decode";
        l->holders[0].file = "load.py";
        l->holders[0].line = i ? 5 : 3;
        l->holders[0].asleep = 0;
        l->holders[0].held_s = l->wait_s;
    }
    return m;
}

static const char *lock_evidence(struct model *m)
{
    assert_ok(findings_add(m));
    for (int i = 0; i < m->findings_count; i++)
        if (!strncmp(m->findings[i].id, "lock.", 5))
            return m->findings[i].evidence;
    fail_msg("no lock is found");
    return NULL;
}

static void holds(const char *kind, double waits, int holders, const char *words)
{
    struct model *m = run_of(kind, waits, holders);
    const char *evidence = lock_evidence(m);
    if (!strstr(evidence, words))
        fail_msg("\"%s\" does not say \"%s\"", evidence, words);
    model_destroy(m);
}

static void the_longest_waits_name_their_holder(void **state)
{
    (void)state;
    holds("mutex", 20, 1, "fill() at load.py:5 holds the mutex");
    holds("mutex", 0.5, 1, "decode() at load.py:3 holds the GIL");
    holds("futex", 20, 1, "fill() at load.py:5 holds the lock (a futex)");
}

/* The section is named by the line that has the lock taken. */
static void a_helper_that_takes_the_lock_is_told_beside_its_caller(void **state)
{
    (void)state;
    struct model *m = run_of("mutex", 20, 1);
    m->locks[1].holders[0].locked_file = "guard.py";
    m->locks[1].holders[0].locked_line = 12;
    assert_non_null(strstr(lock_evidence(m),
                           "fill() at load.py:5 (locked in guard.py:12) holds the mutex for"));
    model_destroy(m);
}

/* The main thread asks again and again whether its one worker is done. */
static void a_lock_costs_no_more_than_others_could_compute_beside_the_busiest(void **state)
{
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        struct model *m = run_of("mutex", 20, 1);
        assert_ok(model_list(m, model_thread, m, threads, 2));
        for (int i = 0; i < 2; i++)
            m->threads[i] = (struct model_thread){.user_s = i && idle ? 0.5 : 4};
        assert_ok(findings_add(m));
        for (int i = 0; i < m->findings_count; i++)
            if (!strncmp(m->findings[i].id, "lock.", 5))
                assert_near(m->findings[i].gain_s, idle ? 0.5 : 4, 1e-9);
        assert_true(m->findings_count > 0);
        model_destroy(m);
    }
}

/* Most of the time its holders sleep: one that had no CPU when it woke was seen behind the lock next. */
static void a_lock_that_sleepers_hold_names_where_they_sleep(void **state)
{
    (void)state;
    static const struct model_holder holders[] = {
        {.function = "ask", .file = "load.py", .line = 9, .asleep = 0, .held_s = 8},
        {.function = "ask", .file = "load.py", .line = 5, .asleep = 1, .held_s = 7},
        {.function = "ask", .file = "load.py", .line = 4, .asleep = 1, .held_s = 5}};
    for (int asleep = 0; asleep < 2; asleep++) {
        struct model *m = run_of("mutex", 20, 1);
        struct model_lock *l = &m->locks[1];
        assert_ok(model_list(m, model_holder, l, holders, 3));
        memcpy(l->holders, holders, sizeof holders);
        for (int i = 0; i < 3; i++)
            l->holders[i].asleep &= asleep;
        assert_non_null(strstr(lock_evidence(m), asleep ? "ask() at load.py:5 holds the mutex"
                                                        : "ask() at load.py:9 holds the mutex"));
        model_destroy(m);
    }
}

/* Idle workers of a pool wait in futexes too. */
static void a_futex_that_nobody_is_known_to_hold_names_nobody(void **state)
{
    (void)state;
    holds("futex", 20, 0, "decode() at load.py:3 holds the GIL");
}

/* Pools that come one after another have more threads than wanted the lock at any moment. */
static void threads_are_those_of_one_moment(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct model *m = run_of("mutex", 20, 1);
        m->locks[1].threads = 24;
        m->contention[0].at_once = later ? 4 : 30;
        const char *evidence = lock_evidence(m);
        assert_non_null(
            strstr(evidence, later ? "that 4 threads waited at load.py:7; 1 ran at a time."
                                   : "that 24 threads waited at load.py:7; 1 ran at a time."));
        model_destroy(m);
    }
}

/* The sentence is about the thread that waits then, and says why nobody is named. */
static void without_a_holder_the_one_who_waits_leads(void **state)
{
    (void)state;
    struct model *m = run_of("rwlock", 20, 0);
    m->contention[0].at_once = 1;
    m->locks[0].longest_s = m->locks[1].longest_s = 20;
    m->locks[0].reason = m->locks[1].reason = "several threads held it for reading";
    const char *evidence = lock_evidence(m);
    assert_true(strstr(evidence, "1 thread waited ") == evidence);
    assert_non_null(strstr(evidence, " for the read-write lock"));
    assert_non_null(strstr(evidence, "not known: several threads held it for reading."));
    model_destroy(m);
}

/* Names the holder first, for on a page of 1280 pixels the sentence took three lines. */
static void the_holder_leads_and_the_sentence_is_short(void **state)
{
    (void)state;
    struct model *m = run_of("mutex", 20, 1);
    assert_string_equal(lock_evidence(m),
                        "fill() at load.py:5 holds the mutex for 100 % of the 20 s "
                        "that 4 threads waited at load.py:7; 1 ran at a time.");
    model_destroy(m);
}

/* Rows of locks were 140 columns wide where nobody knows who held one. */
static void rows_of_locks_keep_to_the_terminal(void **state)
{
    (void)state;
    struct model *m = run_of("mutex", 20, 1);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    m->locks[0].holders_count = 0;
    m->locks[0].reason =
        "the holder had no sample, or the lock was free and the thread that waited had no CPU";
    m->locks[1].holders[0].native = "std::map<std::string, long>::operator[](std::string const&)";
    m->locks[1].holders[0].locked_file = "a_guard_with_a_long_name.py";
    m->locks[1].holders[0].locked_line = 12;
    assert_ok(report_text(m, out, &(struct text_view){.width = 80, .top = 5}));
    assert_int_equal(fclose(out), 0);
    const char *table = strstr(text, "longest ms");
    assert_non_null(table);
    assert_non_null(strstr(table, "held by load.py:5 in "));
    assert_non_null(strstr(table, "held by: unknown (the holder had no sample"));
    for (const char *line = table; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 80)
            fail_msg("%zu columns: %.200s", strcspn(line, "\n"), line);
    free(text);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_waits_name_their_holder),
        cmocka_unit_test(a_lock_that_sleepers_hold_names_where_they_sleep),
        cmocka_unit_test(a_helper_that_takes_the_lock_is_told_beside_its_caller),
        cmocka_unit_test(a_lock_costs_no_more_than_others_could_compute_beside_the_busiest),
        cmocka_unit_test(a_futex_that_nobody_is_known_to_hold_names_nobody),
        cmocka_unit_test(threads_are_those_of_one_moment),
        cmocka_unit_test(the_holder_leads_and_the_sentence_is_short),
        cmocka_unit_test(rows_of_locks_keep_to_the_terminal),
        cmocka_unit_test(without_a_holder_the_one_who_waits_leads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
