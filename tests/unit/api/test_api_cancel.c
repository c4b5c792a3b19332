/* links: tp_api pthread */
/* Progress of calls, and what a wish to end leaves out: each call that may last. One thread: what
 * is left out is then the same each time. */
#include <math.h>
#include <pthread.h>

#include "host/api/api.h"
#include "host/backend/registry.h"
#include "host/recon/recon.h"
#include "tests/unit/api/api_case.h"

enum { TO_VOLUME, TO_SINOGRAM };
typedef tomoprof_status long_call(struct api_case *a, const char *name, tomoprof_array *x,
                                  tomoprof_array *y, tomoprof_array *out);

static tomoprof_status call_forward(struct api_case *a, const char *name, tomoprof_array *x,
                                    tomoprof_array *y, tomoprof_array *out)
{
    (void)name;
    (void)y;
    return tomoprof_forward_project(a->c, a->m, x, out);
}

static tomoprof_status call_back(struct api_case *a, const char *name, tomoprof_array *x,
                                 tomoprof_array *y, tomoprof_array *out)
{
    (void)name;
    (void)x;
    return tomoprof_back_project(a->c, a->m, y, out);
}

static tomoprof_status call_hessian(struct api_case *a, const char *name, tomoprof_array *x,
                                    tomoprof_array *y, tomoprof_array *out)
{
    (void)name;
    (void)x;
    return tomoprof_hessian_diagonal(a->c, a->m, y, out);
}

static tomoprof_status call_filter(struct api_case *a, const char *name, tomoprof_array *x,
                                   tomoprof_array *y, tomoprof_array *out)
{
    (void)name;
    (void)x;
    return tomoprof_direct_filter(a->c, a->m, y, out);
}

static tomoprof_status call_direct(struct api_case *a, const char *name, tomoprof_array *x,
                                   tomoprof_array *y, tomoprof_array *out)
{
    (void)x;
    return tomoprof_direct_recon(a->c, a->m, (tomoprof_direct)(*name - '0'), y, out);
}

static tomoprof_status call_median(struct api_case *a, const char *name, tomoprof_array *x,
                                   tomoprof_array *y, tomoprof_array *out)
{
    (void)name;
    (void)y;
    return tomoprof_median_filter3d(a->c, x, out);
}

static tomoprof_status call_step(struct api_case *a, const char *name, tomoprof_array *x,
                                 tomoprof_array *y, tomoprof_array *out)
{
    (void)x;
    return tomoprof_step(a->c, name, NULL, y, NULL, out);
}

static tomoprof_status call_phantom(struct api_case *a, const char *name, tomoprof_array *x,
                                    tomoprof_array *y, tomoprof_array *out)
{
    (void)x;
    (void)y;
    return *name == 'x' ? tomoprof_phantom(a->c, a->m, "shepp-logan", out, NULL)
                        : tomoprof_phantom(a->c, a->m, "shepp-logan", NULL, out);
}

static tomoprof_status call_noise(struct api_case *a, const char *name, tomoprof_array *x,
                                  tomoprof_array *y, tomoprof_array *out)
{
    (void)name;
    (void)x;
    return tomoprof_add_noise(a->c, y, 0.1, 5, out);
}

static const struct {
    const char *geometry, *name;
    long_call *call;
    int to;
} rows[] = {{"parallel", "", call_forward, TO_SINOGRAM},
            {"parallel", "", call_back, TO_VOLUME},
            {"parallel", "", call_hessian, TO_VOLUME},
            {"parallel", "", call_filter, TO_SINOGRAM},
            {"parallel", "0", call_direct, TO_VOLUME},
            {"parallel", "2", call_direct, TO_VOLUME},
            {"parallel", "", call_median, TO_VOLUME},
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

/* All arrays of a call; the result as no call left it. */
struct long_case {
    struct api_case a;
    float *x, *y, *out;
    tomoprof_array ax, ay, to;
    size_t bytes;
};

static void long_open(struct long_case *l, int row, int threads)
{
    api_open_size(&l->a, rows[row].geometry, 64, threads);
    const int64_t *shape = rows[row].to == TO_VOLUME ? l->a.volume : l->a.sinogram;
    l->x = api_floats(l->a.volume);
    l->y = api_floats(l->a.sinogram);
    l->out = api_floats(shape);
    l->bytes = (size_t)api_count(shape) * sizeof(float);
    l->ax = api_array(l->x, l->a.volume);
    l->ay = api_array(l->y, l->a.sinogram);
    l->to = api_array(l->out, shape);
    api_ok(&l->a, tomoprof_phantom(l->a.c, l->a.m, "two-ellipsoids", &l->ax, &l->ay));
}

static void long_close(struct long_case *l)
{
    free(l->x);
    free(l->y);
    free(l->out);
    api_close(&l->a);
}

/* At the first word of progress, before anything is computed. */
static void a_wish_to_end_leaves_out_the_rest(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct long_case l;
        struct seen s = {.end_at = 1, .caller = pthread_self()};
        long_open(&l, i, 1);
        api_ok(&l.a, rows[i].call(&l.a, rows[i].name, &l.ax, &l.ay, &l.to));
        float *whole = malloc(l.bytes);
        memcpy(whole, l.out, l.bytes);
        memset(l.out, 0x7f, l.bytes);
        tomoprof_set_progress(l.a.c, cancel_watch, &s);
        const tomoprof_status status = rows[i].call(&l.a, rows[i].name, &l.ax, &l.ay, &l.to);
        if (status != TOMOPROF_CANCELLED || s.calls != 1 || s.last != 0)
            fail_msg("row %d (%s %s): status %d, %d calls of progress, the last %g", i,
                     rows[i].geometry, rows[i].name, (int)status, s.calls, s.last);
        if (!memcmp(l.out, whole, l.bytes))
            fail_msg("row %d (%s %s): went on to its end", i, rows[i].geometry, rows[i].name);
        tomoprof_set_progress(l.a.c, NULL, NULL);
        api_ok(&l.a, rows[i].call(&l.a, rows[i].name, &l.ax, &l.ay, &l.to));
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
        long_open(&l, i, 2);
        api_ok(&l.a, rows[i].call(&l.a, rows[i].name, &l.ax, &l.ay, &l.to));
        float *whole = malloc(l.bytes);
        memcpy(whole, l.out, l.bytes);
        tomoprof_set_progress(l.a.c, cancel_watch, &s);
        api_ok(&l.a, rows[i].call(&l.a, rows[i].name, &l.ax, &l.ay, &l.to));
        if (s.calls < 1 || s.last != 1 || s.foreign || s.backwards)
            fail_msg("row %d (%s %s): %d calls, %d in other threads, %d backwards, the last %g", i,
                     rows[i].geometry, rows[i].name, s.calls, s.foreign, s.backwards, s.last);
        assert_memory_equal(l.out, whole, l.bytes);
        free(whole);
        long_close(&l);
    }
}

/* A subset that was begun when the wish came leaves the image as it was. */
static void an_iteration_that_ends_early_keeps_the_image(void **state)
{
    static const char *const geometries[] = {"parallel", "cone"};
    static const volatile int wish = 1;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct api_case a;
        struct backend *be;
        struct mbir_report report;
        const struct backend_options options = {.threads = 2};
        api_open_size(&a, geometries[i], 64, 1);
        float *y = api_floats(a.sinogram), *x = api_floats(a.volume), *first = api_floats(a.volume);
        const size_t x_bytes = (size_t)api_count(a.volume) * sizeof *x;
        tomoprof_array ay = api_array(y, a.sinogram), af = api_array(first, a.volume);
        api_ok(&a, tomoprof_phantom(a.c, a.m, "shepp-logan", &af, &ay));
        assert_ok(backend_open("cpu", &options, &be));
        const struct buffer sinogram = {PLACE_HOST, 0, (size_t)api_count(a.sinogram) * sizeof *y,
                                        y},
                            initial = {PLACE_HOST, 0, x_bytes, first};
        struct buffer volume = {PLACE_HOST, 0, x_bytes, x};
        const struct mbir_options o = {.max_iterations = 2, .initial = &initial};
        assert_ok(mbir_recon(be, &a.m->m, &sinogram, &o, &volume, &report));
        mbir_report_free(&report);
        assert_memory_not_equal(x, first, x_bytes);
        be->stop = &wish;
        (void)mbir_recon(be, &a.m->m, &sinogram, &o, &volume, &report);
        mbir_report_free(&report);
        assert_memory_equal(x, first, x_bytes);
        backend_close(be);
        free(y);
        free(x);
        free(first);
        api_close(&a);
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
