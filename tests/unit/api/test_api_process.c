/* links: tp_api OpenMP::OpenMP_C pthread */
/* Checks that tomoprof.h leaves the process around it alone: OpenMP, numbers, fork(), memory. */
#include <fenv.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/api/api_case.h"

static float *projection_of_ones(struct api_case *a)
{
    float *x = api_floats(a->volume), *y = api_floats(a->sinogram);
    tomoprof_array ax = api_array(x, a->volume), ay = api_array(y, a->sinogram);
    for (int64_t i = 0; i < api_count(a->volume); i++)
        x[i] = 1 + (float)(i % 7);
    api_ok(a, tomoprof_forward_project(a->c, a->m, &ax, &ay));
    free(x);
    return y;
}

#ifdef __SSE__
#define MXCSR() (__builtin_ia32_stmxcsr() & 0xffc0u) /* without the flags of what happened */
#else
#define MXCSR() 0u
#endif

static void openmp_and_floating_point_stay_as_they_were(void **state)
{
    (void)state;
    struct api_case a;
    omp_set_num_threads(3);
    omp_set_dynamic(1);
    omp_set_max_active_levels(2);
    assert_int_equal(fesetround(FE_UPWARD), 0);
    const unsigned before = MXCSR();
    api_open_size(&a, "parallel", 64, 2);
    free(projection_of_ones(&a));
    float *y = api_floats(a.sinogram), *x = api_floats(a.volume);
    tomoprof_array ay = api_array(y, a.sinogram), ax = api_array(x, a.volume);
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    o.iterations = 2;
    api_ok(&a, tomoprof_phantom(a.c, a.m, "shepp-logan", NULL, &ay));
    api_ok(&a, tomoprof_recon(a.c, a.m, &ay, &o, &ax, NULL));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "m is NULL",
              tomoprof_recon(a.c, NULL, &ay, &o, &ax, NULL));
    free(y);
    free(x);
    api_close(&a);
    assert_int_equal(MXCSR(), before);
    assert_int_equal(fegetround(), FE_UPWARD);
    fesetround(FE_TONEAREST);
    assert_int_equal(omp_get_max_threads(), 3);
    assert_int_equal(omp_get_dynamic(), 1);
    assert_int_equal(omp_get_max_active_levels(), 2);
    omp_set_dynamic(0);
    omp_set_max_active_levels(1);
}

/* Inside of a parallel region, where a team of more than one thread may not begin. */
static void calls_work_inside_of_a_parallel_region(void **state)
{
    (void)state;
    struct api_case outside;
    api_open_size(&outside, "parallel", 64, 2);
    float *expected = projection_of_ones(&outside), *results[2] = {0};
    struct api_case inside[2];
    for (int i = 0; i < 2; i++)
        api_open_size(&inside[i], "parallel", 64, 2);
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; i++)
        results[i] = projection_of_ones(&inside[i]);
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(results[i], expected,
                            (size_t)api_count(outside.sinogram) * sizeof *expected);
        free(results[i]);
        api_close(&inside[i]);
    }
    free(expected);
    api_close(&outside);
}

static int child_of_fork(struct api_case *parents, const float *expected)
{
    struct api_case own;
    float *y = malloc((size_t)api_count(parents->sinogram) * sizeof *y);
    tomoprof_array ay = api_array(y, parents->sinogram);
    alarm(100); /* a team that does not come would be waited for for ever */
    if (tomoprof_phantom(parents->c, parents->m, "shepp-logan", NULL, &ay) !=
            TOMOPROF_UNSUPPORTED ||
        !strstr(tomoprof_error(parents->c), "before fork()"))
        return 1;
    api_open_size(&own, "parallel", 64, 2);
    for (int i = 0; i < 3; i++) {
        float *again = projection_of_ones(&own);
        if (memcmp(again, expected, (size_t)api_count(own.sinogram) * sizeof *again) != 0)
            return 2;
        free(again);
    }
    if (tomoprof_forward_project(own.c, own.m, &ay, &ay) != TOMOPROF_BAD_ARGUMENT ||
        !strstr(tomoprof_error(own.c), "x and y overlap"))
        return 3;
    api_close(&own);
    tomoprof_model_free(parents->m);
    tomoprof_context_free(parents->c);
    free(y);
    return 0;
}

static void child_of_fork_makes_its_own_context(void **state)
{
    (void)state;
    struct api_case a;
    int status;
    api_open_size(&a, "parallel", 64, 2);
    float *expected = projection_of_ones(&a); /* the team is there now */
    const pid_t child = fork();
    if (!child)
        _exit(child_of_fork(&a, expected));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    float *again = projection_of_ones(&a);
    assert_memory_equal(again, expected, (size_t)api_count(a.sinogram) * sizeof *again);
    free(again);
    free(expected);
    api_close(&a);
}

static void *project_many_times(void *expected)
{
    struct api_case a;
    api_open_size(&a, "parallel", 64, 1);
    for (int i = 0; i < 5; i++) {
        float *y = projection_of_ones(&a);
        const int same = !memcmp(y, expected, (size_t)api_count(a.sinogram) * sizeof *y);
        free(y);
        if (!same)
            return expected;
        if (tomoprof_model_set(a.c, a.m, "sharpnes", NULL, 0) != TOMOPROF_BAD_ARGUMENT)
            return expected;
    }
    api_close(&a);
    return NULL;
}

static void threads_with_contexts_of_their_own_do_not_meet(void **state)
{
    (void)state;
    struct api_case a;
    pthread_t threads[4];
    api_open_size(&a, "parallel", 64, 1);
    float *expected = projection_of_ones(&a);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, project_many_times, expected), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    free(expected);
    api_close(&a);
}

struct canceller {
    tomoprof_context *c;
    volatile int ended;
};

static void *cancel_until_it_ends(void *of)
{
    struct canceller *k = of;
    while (!k->ended) {
        tomoprof_cancel(k->c);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

/* Another thread ends a call that would take minutes. */
static void cancel_ends_a_long_call(void **state)
{
    (void)state;
    struct api_case a;
    pthread_t thread;
    api_open_size(&a, "parallel", 128, 1);
    float *y = api_floats(a.sinogram), *x = api_floats(a.volume);
    tomoprof_array ay = api_array(y, a.sinogram), ax = api_array(x, a.volume);
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    tomoprof_recon_report r = {.size = sizeof r};
    struct canceller k = {a.c, 0};
    o.iterations = 100000;
    o.stop_threshold_percent = 0;
    api_ok(&a, tomoprof_phantom(a.c, a.m, "shepp-logan", &ax, &ay));
    assert_int_equal(pthread_create(&thread, NULL, cancel_until_it_ends, &k), 0);
    assert_int_equal(tomoprof_recon(a.c, a.m, &ay, &o, &ax, &r), TOMOPROF_CANCELLED);
    assert_true(r.iterations < 10000);
    assert_int_equal(tomoprof_back_project(a.c, a.m, &ay, &ax), TOMOPROF_CANCELLED);
    k.ended = 1;
    pthread_join(thread, NULL);
    for (int64_t i = 0; i < api_count(a.volume); i++)
        assert_true(isfinite(x[i]));
    free(y);
    free(x);
    api_close(&a);
}

struct watcher {
    pthread_t thread;
    int running, steps, elsewhere, ends_at; /* ends_at: RUNNING events, then the call is to end */
    double done, total;
};

static int watch_event(const tomoprof_event *event)
{
    struct watcher *w = event->user;
    assert_int_equal(event->size, sizeof *event);
    if (event->kind == TOMOPROF_RUNNING) {
        w->elsewhere += !pthread_equal(pthread_self(), w->thread);
        return ++w->running == w->ends_at;
    }
    if (event->kind == TOMOPROF_STEP) {
        w->steps++;
        w->done = event->done;
        w->total = event->total;
    }
    return 0;
}

/* Events come from the thread that made the call, also in the middle of a projection. */
static void a_watch_is_told_and_ends_the_call(void **state)
{
    (void)state;
    struct api_case a;
    struct watcher w = {.thread = pthread_self()};
    api_open_size(&a, "parallel", 128, 2);
    float *y = api_floats(a.sinogram), *x = api_floats(a.volume);
    tomoprof_array ay = api_array(y, a.sinogram), ax = api_array(x, a.volume);
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    o.iterations = 3;
    o.stop_threshold_percent = 0;
    tomoprof_set_watch(a.c, watch_event, &w, 1, 1);
    api_ok(&a, tomoprof_phantom(a.c, a.m, "shepp-logan", &ax, &ay));
    api_ok(&a, tomoprof_recon(a.c, a.m, &ay, &o, &ax, NULL));
    assert_true(w.running > 3 && w.elsewhere == 0);
    assert_true(w.steps >= 3 && w.done == 3 && w.total == 3);
    const int before = w.running, steps = w.steps;
    w.ends_at = before + 1;
    assert_int_equal(tomoprof_recon(a.c, a.m, &ay, &o, &ax, NULL), TOMOPROF_CANCELLED);
    assert_int_equal(w.running, before + 1);
    for (int64_t i = 0; i < api_count(a.volume); i++)
        assert_true(isfinite(x[i]));
    tomoprof_set_watch(a.c, watch_event, &w, 0, 1);
    api_ok(&a, tomoprof_recon(a.c, a.m, &ay, &o, &ax, NULL));
    assert_int_equal(w.running, before + 1);
    assert_int_equal(w.steps, steps + 3);
    free(y);
    free(x);
    api_close(&a);
}

static int watched_child(void)
{
    struct api_case a;
    struct watcher w = {.thread = pthread_self(), .ends_at = 3};
    api_open_size(&a, "parallel", 128, 1);
    float *y = api_floats(a.sinogram), *x = api_floats(a.volume);
    tomoprof_array ay = api_array(y, a.sinogram), ax = api_array(x, a.volume);
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    o.iterations = 100000;
    o.stop_threshold_percent = 0;
    alarm(100);
    if (tomoprof_phantom(a.c, a.m, "shepp-logan", &ax, &ay))
        return 1;
    tomoprof_set_watch(a.c, watch_event, &w, 1, 1);
    if (tomoprof_recon(a.c, a.m, &ay, &o, &ax, NULL) != TOMOPROF_CANCELLED)
        return 2;
    return w.running == 3 && w.elsewhere == 0 ? 0 : 3;
}

/* There a helper computes; the thread that made the call still gets its RUNNING events. */
static void a_child_of_fork_is_watched_in_its_own_thread(void **state)
{
    (void)state;
    int status;
    const pid_t child = fork();
    if (!child)
        _exit(watched_child());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Under AddressSanitizer what is not given back is found at the end. */
static void many_contexts_and_models_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct api_case a;
        const double sharpness = i % 100;
        api_open_size(&a, "parallel", 4, 1);
        api_ok(&a, tomoprof_model_set(a.c, a.m, "sharpness", &sharpness, 1));
        if (i % 10 == 0)
            free(projection_of_ones(&a));
        api_fails(&a, TOMOPROF_BAD_ARGUMENT, "not valid JSON",
                  tomoprof_model_parse(a.c, "{", 1, &(tomoprof_model *){0}));
        api_close(&a);
    }
    assert_int_equal(mem_held(), 0);
}

static void memory_has_the_limit_of_the_context(void **state)
{
    (void)state;
    struct api_case a;
    tomoprof_context_options o = TOMOPROF_CONTEXT_OPTIONS;
    api_open_size(&a, "parallel", 128, 1);
    o.backend = "cpu";
    o.memory = 1 << 20;
    tomoprof_context *small;
    api_ok(&a, tomoprof_context_create(&o, &small));
    struct api_case limited = {.c = small};
    float *y = api_floats(a.sinogram), *x = api_floats(a.volume);
    tomoprof_array ay = api_array(y, a.sinogram), ax = api_array(x, a.volume);
    api_ok(&a, tomoprof_phantom(a.c, a.m, "shepp-logan", NULL, &ay));
    api_fails(&limited, TOMOPROF_NO_MEMORY, "limited by `memory`",
              tomoprof_recon(small, a.m, &ay, NULL, &ax, NULL));
    tomoprof_context_free(small);
    free(y);
    free(x);
    api_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openmp_and_floating_point_stay_as_they_were),
        cmocka_unit_test(calls_work_inside_of_a_parallel_region),
        cmocka_unit_test(child_of_fork_makes_its_own_context),
        cmocka_unit_test(threads_with_contexts_of_their_own_do_not_meet),
        cmocka_unit_test(cancel_ends_a_long_call),
        cmocka_unit_test(a_watch_is_told_and_ends_the_call),
        cmocka_unit_test(a_child_of_fork_is_watched_in_its_own_thread),
        cmocka_unit_test(many_contexts_and_models_come_and_go),
        cmocka_unit_test(memory_has_the_limit_of_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
