/* links: tp_findings */
/* Tests when threads beyond the CPUs are the answer: by what a pool takes to wake them and to wait. */
#include "profiler/findings/findings.h"
#include "tests/unit/findings/own_case.h"

/* 2 CPUs; `threads` of which each took as much, and of a pool's CPU time `spins` ms are waiting. */
static struct model *crowd_of(int threads, int spins, const char *kind)
{
    const struct node nodes[] = {ROOT,
                                 WAIT(0, 20, "main", 300, "lock"),
                                 {1, "workers", NULL, 0, NULL, 900, 450, 0, NULL},
                                 LINE(0, 14, "filter._omp_fn.0", 100, 50)};
    struct model *m = RUN(1, nodes);
    m->totals.path_ready_s = 0.2; /* own time: 0.8 s */
    assert_ok(model_list(m, model_fact, m, environment, 1));
    m->environment[0] = (struct model_fact){"launcher.cpus", "2"};
    assert_ok(model_list(m, model_work, m, works, 2));
    m->works[0] = (struct model_work){2, kind, "waiting", (int64_t)spins * MS};
    m->works[1] = (struct model_work){3, "self", "the line itself", 100 * MS};
    assert_ok(model_list(m, model_thread, m, threads, (size_t)threads + 1));
    for (int i = 0; i < threads; i++)
        m->threads[i] = (struct model_thread){.user_s = 0, .sys_s = 0.03, .wait_s = 0.9};
    m->threads[threads].kernel_cpu_s = 0.03; /* the recorder's */
    assert_ok(findings_add(m));
    return m;
}

static void a_pool_of_more_threads_than_cpus_says_so(void **state)
{
    (void)state;
    struct model *m = crowd_of(32, 900, "spin");
    begins_with(m,
                "32 threads share 2 CPUs at app.py:14: waking each other and waiting took 90 % of "
                "the CPU time (0.9 of 1 s).");
    assert_string_equal(m->answers[0].kind, "threads");
    assert_near(m->answers[0].gain_s, 0.75, 1e-9);
    assert_non_null(strstr(m->answers[0].advice, "OMP_NUM_THREADS"));
    model_destroy(m);
}

static void no_crowd(int threads, int spins, const char *kind)
{
    struct model *m = crowd_of(threads, spins, kind);
    for (int i = 0; i < m->answers_count; i++)
        assert_string_not_equal(m->answers[i].kind, "threads");
    model_destroy(m);
}

static void threads_that_compute_or_have_cpus_are_no_crowd(void **state)
{
    (void)state;
    no_crowd(2, 900, "spin");
    no_crowd(32, 900, "blas");
    no_crowd(32, 100, "spin");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_of_more_threads_than_cpus_says_so),
        cmocka_unit_test(threads_that_compute_or_have_cpus_are_no_crowd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
