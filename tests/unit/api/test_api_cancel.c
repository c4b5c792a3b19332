/* links: tp_api pthread */
/* Progress of calls, and what a wish to end leaves out: each call that may last. One thread: what
 * is left out is then the same each time. */
#include <math.h>
#include <pthread.h>

#include "host/api/api.h"
#include "host/backend/registry.h"
#include "host/recon/recon.h"
#include "tests/unit/api/long_calls.h"

static const struct long_row rows[] = {
    {"parallel", "", call_forward, TO_SINOGRAM},
    {"parallel", "", call_back, TO_VOLUME},
    {"parallel", "", call_hessian, TO_VOLUME},
    {"parallel", "", call_filter, TO_SINOGRAM},
    {"parallel", "0", call_direct, TO_VOLUME},
    {"parallel", "2", call_direct, TO_VOLUME},
    {"parallel", "", call_median, TO_VOLUME},
    {"parallel", "", call_sart, TO_VOLUME},
    {"parallel", "remove_outliers", call_step, TO_SINOGRAM},
    {"parallel", "normalise_air", call_step, TO_SINOGRAM},
    {"parallel", "retrieve_phase", call_step, TO_SINOGRAM},
    {"parallel", "minus_log", call_step, TO_SINOGRAM},
    {"parallel", "correct_hardening", call_step, TO_SINOGRAM},
    {"parallel", "correct_tilt", call_step, TO_SINOGRAM},
    {"parallel", "remove_stripes_wavelet", call_step, TO_SINOGRAM},
    {"parallel", "remove_stripes_sorting", call_step, TO_SINOGRAM},
    {"parallel", "x", call_phantom, TO_VOLUME},
    {"parallel", "y", call_phantom, TO_SINOGRAM},
    {"parallel", "", call_noise, TO_SINOGRAM},
    {"cone", "", call_forward, TO_SINOGRAM},
    {"cone", "", call_back, TO_VOLUME},
    {"cone", "", call_hessian, TO_VOLUME},
    {"cone", "", call_filter, TO_SINOGRAM},
    {"cone", "0", call_direct, TO_VOLUME},
    {"cone", "1", call_direct, TO_VOLUME}};
#define ROWS (int)(sizeof rows / sizeof *rows)

struct seen {
    int calls, end_at; /* 0: never */
    double last;
    pthread_t caller;
    int foreign, backwards;
};

static int cancel_watch(void *user, double done, double total)
{
    struct seen *s = user;
    s->foreign += !pthread_equal(s->caller, pthread_self());
    s->backwards += !(done / total >= s->last) || total != 1;
    s->last = done / total;
    return ++s->calls == s->end_at;
}

/* At the first word of progress, before anything is computed. */
static void a_wish_to_end_leaves_out_the_rest(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct long_case l;
        struct seen s = {.end_at = 1, .caller = pthread_self()};
        long_open(&l, &rows[i], 64, 1);
        api_ok(&l.a, rows[i].call(&l, rows[i].name));
        float *whole = malloc(l.bytes);
        memcpy(whole, l.out, l.bytes);
        memset(l.out, 0x7f, l.bytes);
        tomoprof_set_progress(l.a.c, cancel_watch, &s);
        const tomoprof_status status = rows[i].call(&l, rows[i].name);
        if (status != TOMOPROF_CANCELLED || s.calls != 1 || s.last != 0)
            fail_msg("row %d (%s %s): status %d, %d calls of progress, the last %g", i,
                     rows[i].geometry, rows[i].name, (int)status, s.calls, s.last);
        if (!memcmp(l.out, whole, l.bytes))
            fail_msg("row %d (%s %s): went on to its end", i, rows[i].geometry, rows[i].name);
        tomoprof_set_progress(l.a.c, NULL, NULL);
        api_ok(&l.a, rows[i].call(&l, rows[i].name));
        assert_memory_equal(l.out, whole, l.bytes); /* the wish is forgotten */
        free(whole);
        long_close(&l);
    }
}

static void progress_grows_from_0_to_1_in_the_thread_of_the_call(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct long_case l;
        struct seen s = {.caller = pthread_self()};
        long_open(&l, &rows[i], 64, 2);
        api_ok(&l.a, rows[i].call(&l, rows[i].name));
        float *whole = malloc(l.bytes);
        memcpy(whole, l.out, l.bytes);
        tomoprof_set_progress(l.a.c, cancel_watch, &s);
        api_ok(&l.a, rows[i].call(&l, rows[i].name));
        if (s.calls < 1 || s.last != 1 || s.foreign || s.backwards)
            fail_msg("row %d (%s %s): %d calls, %d in other threads, %d backwards, the last %g", i,
                     rows[i].geometry, rows[i].name, s.calls, s.foreign, s.backwards, s.last);
        assert_memory_equal(l.out, whole, l.bytes);
        free(whole);
        long_close(&l);
    }
}

/* Sets the wish to end at look number `end_at`. */
struct counted {
    int64_t count, end_at;
    volatile int wish;
};

static void count_look(void *looker)
{
    struct counted *s = looker;
    s->wish = s->wish || ++s->count == s->end_at;
}

/* An iteration of the image x from `first`, which ends at a look. Returns the looks. */
static int64_t iterate_until(struct backend *be, const struct long_case *l, int64_t iterations,
                             int64_t end_at)
{
    struct mbir_report report;
    const size_t x_bytes = (size_t)api_count(l->a.volume) * sizeof(float);
    const struct buffer y = {PLACE_HOST, 0, (size_t)api_count(l->a.sinogram) * sizeof(float), l->y},
                        first = {PLACE_HOST, 0, x_bytes, l->x};
    struct buffer x = {PLACE_HOST, 0, x_bytes, l->out};
    struct counted looks = {.end_at = end_at};
    const struct mbir_options o = {.max_iterations = iterations, .initial = &first};
    be->look = count_look;
    be->looker = &looks;
    be->stop = &looks.wish;
    const enum err e = mbir_recon(be, &l->a.m->m, &y, &o, &x, &report);
    mbir_report_free(&report);
    assert_int_equal(e, looks.wish ? ERR_INTERRUPTED : ERR_OK);
    return looks.count;
}

#define SUBSETS 4 /* of the first iteration */
#define PLACES  80

/* Wherever in an iteration the wish comes, the image has whole steps: with 4 subsets 5 images. */
static void an_iteration_that_ends_early_keeps_the_image(void **state)
{
    static const struct long_row scans[] = {{"parallel", "", NULL, TO_VOLUME},
                                            {"cone", "", NULL, TO_VOLUME}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct long_case l;
        struct backend *be;
        const struct backend_options options = {.threads = 2};
        float *seen[SUBSETS + 1];
        int count = 1;
        long_open(&l, &scans[i], 64, 1);
        assert_ok(backend_open("cpu", &options, &be));
        const int64_t begun = iterate_until(be, &l, 0, 0), all = iterate_until(be, &l, 1, 0);
        seen[0] = l.x;
        for (int place = 0; place < PLACES; place++) {
            int k = 0;
            iterate_until(be, &l, 1, begun + 1 + (all - begun - 1) * place / PLACES);
            while (k < count && memcmp(l.out, seen[k], l.bytes))
                k++;
            if (k == count && count > SUBSETS)
                fail_msg("%s: a step was taken in part, place %d", scans[i].geometry, place);
            if (k == count)
                seen[count++] = memcpy(malloc(l.bytes), l.out, l.bytes);
        }
        assert_int_equal(count, SUBSETS + 1);
        while (--count)
            free(seen[count]);
        backend_close(be);
        long_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wish_to_end_leaves_out_the_rest),
        cmocka_unit_test(an_iteration_that_ends_early_keeps_the_image),
        cmocka_unit_test(progress_grows_from_0_to_1_in_the_thread_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
