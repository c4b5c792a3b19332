/* MBIR larger than the device. Parallel beams in groups of slices: with one group what the whole
 * gives, with more the same minimum, the error sinogram always that of the image. Cone beams with
 * the error sinogram in host memory: what the whole gives. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/recon/mbir.h"
#include "host/recon/mbir_large.h"
#include "tests/device/problem.h"
#include "tests/device/shim/shim.h"

struct run {
    const struct problem *p;
    const float *w, *initial, *target;
    struct mbir_options o;
    struct mbir_report report;
    float *x;
};

static struct buffer in_host(const float *array, int64_t count)
{
    return (struct buffer){PLACE_HOST, 0, (size_t)count * sizeof(float), (void *)array};
}

static enum err solve(struct run *r, size_t room, int resident)
{
    struct backend *be = device(room);
    const struct problem *p = r->p;
    const float *const from[] = {p->y, r->w, r->initial, r->target, r->x};
    const int64_t counts[] = {p->samples, p->samples, p->voxels, p->voxels, p->voxels};
    struct buffer b[5] = {0};
    enum err e = ERR_OK;
    for (int i = 0; i < 5; i++)
        if (from[i] && resident)
            assert_ok(be->ops->upload(be, from[i], (size_t)counts[i] * sizeof(float), &b[i]));
        else
            b[i] = in_host(from[i], counts[i]);
    struct mbir_options o = r->o;
    o.weights = r->w ? &b[1] : NULL;
    o.initial = r->initial ? &b[2] : NULL;
    o.prox_target = r->target ? &b[3] : NULL;
    e = mbir_recon(be, &p->model, &b[0], &o, &b[4], &r->report);
    if (resident) {
        assert_ok(be->ops->download(be, &b[4], r->x, b[4].bytes));
        for (int i = 0; i < 5; i++)
            if (from[i])
                be->ops->release(be, &b[i]);
    }
    backend_close(be);
    assert_int_equal(shim_counts().live, 0);
    return e;
}

/* The room that gives groups of so many slices. */
static size_t room_of(const struct problem *p, int64_t thickness, struct mbir_groups_plan *plan)
{
    struct backend *be = device(0);
    int32_t *pixels;
    int64_t count;
    assert_ok(volume_pixels_inside(&p->model.volume, &pixels, &count));
    free(pixels);
    size_t low = 0, high = (size_t)1 << 28; /* at high: thickness or more */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (mbir_groups_plan(be, &p->model, count, middle, plan) ||
            plan->groups.thickness < thickness)
            low = middle;
        else
            high = middle;
    }
    assert_ok(mbir_groups_plan(be, &p->model, count, high, plan));
    assert_int_equal(plan->groups.thickness, thickness);
    backend_close(be);
    return high;
}

/* Discs that differ from slice to slice, seen by the back end. */
static void open_solid(const char *name, struct problem *p)
{
    for (int i = 0; i < case_count; i++)
        if (!strcmp(cases[i].name, name))
            problem_open(&cases[i], p);
    const struct volume *v = &p->model.volume;
    for (int64_t i = 0; i < p->voxels; i++) {
        const int64_t k = i % v->slices, col = i / v->slices % v->cols;
        const int64_t row = i / v->slices / v->cols;
        const double dy = (double)row - .5 * (double)v->rows + .2 * (double)k;
        const double dx = (double)col - .5 * (double)v->cols;
        const double reach = .1 * (double)(v->rows * v->cols) / (double)(1 + k % 3);
        p->x[i] = dx * dx + dy * dy < reach / 3.15 ? .02f * (float)(1 + k % 2) : 0;
    }
    struct backend *be = device(0);
    float *y = floats(p->samples);
    assert_ok(run_resident(be, p, FORWARD, y));
    for (int64_t i = 0; i < p->samples; i++)
        p->y[i] = y[i] + .002f * (p->y[i] - 1); /* noise */
    free(y);
    backend_close(be);
}

static struct run run_of(const struct problem *p, int64_t iterations)
{
    return (struct run){
        .p = p, .o = {.max_iterations = iterations, .seed = 3}, .x = floats(p->voxels)};
}

static void run_free(struct run *r)
{
    mbir_report_free(&r->report);
    free(r->x);
}

static double distance(const struct run *a, const struct run *b)
{
    double *wide = widen(b->x, b->p->voxels);
    const double d = relative_l2(a->x, wide, b->p->voxels);
    free(wide);
    return d;
}

/* sqrt(<w e, e>) of e = y - A x, from the image alone. */
static double residual_of(const struct run *r)
{
    struct problem p = *r->p;
    p.x = r->x;
    struct backend *be = device(0);
    float *ax = floats(p.samples);
    double sum = 0, weights = 0;
    assert_ok(run_resident(be, &p, FORWARD, ax));
    for (int64_t i = 0; i < p.samples; i++) {
        const double e = (double)p.y[i] - (double)ax[i], w = r->w ? (double)r->w[i] : 1;
        sum += w * e * e;
        weights += w;
    }
    free(ax);
    backend_close(be);
    return sqrt(sum / weights) / r->report.sigma_y;
}

static void check_residual(const struct run *r)
{
    const double told = r->report.fm_rmse[r->report.iterations - 1], truth = residual_of(r);
    if (!(fabs(told - truth) <= 1e-4 * truth))
        fail_msg("%s: fm_rmse %.9g, from the image %.9g", r->p->name, told, truth);
}

static void one_group_is_the_whole(void **state)
{
    (void)state;
    static const char *const names[] = {"par_even", "par_offset", "par_rectangle"};
    for (int i = 0; i < 3; i++) {
        struct problem p;
        open_solid(names[i], &p);
        p.model.regularisation.positivity = i == 1;
        struct run whole = run_of(&p, 5), grouped = run_of(&p, 5);
        assert_ok(solve(&whole, 0, 1));
        assert_ok(solve(&grouped, 0, 0));
        assert_memory_equal(whole.x, grouped.x, (size_t)p.voxels * sizeof(float));
        assert_memory_equal(whole.report.alpha, grouped.report.alpha, 5 * sizeof(double));
        run_free(&whole);
        run_free(&grouped);
        problem_close(&p);
    }
}

#define EARLY 3 /* iterations */
#define LATE  12
enum { PLAIN, WEIGHTED_RUN, POSITIVE, PROXIMAL, INITIAL, KINDS };

/* Under the sanitizers not many iterations, and of the kinds the first two: more take the same
 * steps again, or with another prior or start, which test_mbir_twin does there. -DTP_LONG=ON: all.
 */
static int each_code_once(void)
{
    const char *sanitized = getenv("TP_SANITIZE"), *all = getenv("TP_LONG");
    return sanitized && !strcmp(sanitized, "ON") && !(all && !strcmp(all, "ON"));
}

static int kinds_here(void)
{
    return each_code_once() ? 2 : KINDS;
}

/* Compares both ways, after few iterations and after many. */
static void compare(struct problem *p, int kind, int64_t thickness, struct worst *early,
                    struct worst *late)
{
    static const char *const kinds[] = {"plain", "weighted", "positive", "proximal", "initial"};
    struct mbir_groups_plan plan;
    char where[80];
    const size_t room = room_of(p, thickness, &plan);
    float *w = random_floats(5, .5, 1.5, p->samples), *v = random_floats(6, 0, .02, p->voxels);
    snprintf(where, sizeof where, "%s, %s, groups of %lld", p->name, kinds[kind],
             (long long)thickness);
    p->model.regularisation.positivity = kind == POSITIVE;
    for (int many = 0; many < (kind == PLAIN && !each_code_once() ? 2 : 1); many++) {
        struct run whole = run_of(p, many ? LATE : EARLY), grouped = run_of(p, many ? LATE : EARLY);
        whole.w = grouped.w = kind == WEIGHTED_RUN ? w : NULL;
        whole.target = grouped.target = kind == PROXIMAL ? v : NULL;
        whole.initial = grouped.initial = kind == INITIAL ? v : NULL;
        assert_ok(solve(&whole, 0, 1));
        shim_reset_peaks();
        assert_ok(solve(&grouped, room, 0));
        assert_in_range(shim_counts().peak, 1, room);
        worst_note(many ? late : early, where, distance(&grouped, &whole));
        check_residual(&whole);
        check_residual(&grouped);
        run_free(&whole);
        run_free(&grouped);
    }
    free(w);
    free(v);
}

static void groups_find_the_same_minimum(void **state)
{
    (void)state;
    struct worst early = {.what = "groups against the whole, 3 iterations", .limit = .1};
    struct worst late = {.what = "groups against the whole, 12 iterations", .limit = 1e-2};
    for (int kind = 0; kind < kinds_here(); kind++) {
        struct problem p;
        open_solid(kind % 2 ? "par_offset" : "par_even", &p);
        compare(&p, kind, 1 + (kind + 2) % 3, &early, &late);
        problem_close(&p);
    }
    worst_check(&early);
    if (!each_code_once())
        worst_check(&late);
}

static int stop_now;

static void stop_after(void *context, int64_t done, int64_t total)
{
    (void)context, (void)total;
    stop_now = done == 2;
}

/* x is whole, as after some of its subsets. */
static void an_interrupted_run_keeps_its_image(void **state)
{
    (void)state;
    struct problem p;
    struct mbir_groups_plan plan;
    open_solid("par_even", &p);
    const size_t room = room_of(&p, 2, &plan);
    struct run two = run_of(&p, 2), stopped = run_of(&p, 5);
    stopped.o.on_iteration = stop_after;
    stopped.o.stop = &stop_now;
    stop_now = 0;
    assert_ok(solve(&two, room, 0));
    assert_error(solve(&stopped, room, 0), ERR_INTERRUPTED, "interrupted in iteration 3 of 5");
    assert_memory_equal(two.x, stopped.x, (size_t)p.voxels * sizeof(float));
    run_free(&two);
    run_free(&stopped);
    problem_close(&p);
}

/* Each `step`th allocation fails once. */
static void fail_each(struct problem *p, size_t room, int64_t step)
{
    int failed = 0;
    for (int64_t at = 1;; at += step) {
        struct run r = run_of(p, 1);
        shim_faults.allocation = at;
        const enum err e = solve(&r, room, 0);
        const int reached = shim_faults.allocation <= 0;
        shim_faults.allocation = 0;
        failed += e != ERR_OK;
        run_free(&r);
        if (!reached)
            break;
    }
    assert_in_range(failed, 3, 1000);
}

static void failures_are_told_and_leave_nothing(void **state)
{
    (void)state;
    struct problem p;
    struct mbir_groups_plan plan;
    open_solid("par_even", &p);
    const size_t room = room_of(&p, 3, &plan);
    fail_each(&p, room, 11);
    problem_close(&p);
}

/* ---- cone beams: the error sinogram passes through the device ---- */

/* The room for blocks of so many views. */
static size_t room_of_views(const struct problem *p, int64_t views, struct mbir_streamed_plan *plan)
{
    struct backend *be = device(0);
    int32_t *pixels;
    int64_t count;
    assert_ok(volume_pixels_inside(&p->model.volume, &pixels, &count));
    free(pixels);
    size_t low = 0, high = (size_t)1 << 28; /* at high: so many or more */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (mbir_streamed_plan(be, &p->model, count, middle, 2, plan) ||
            plan->blocks.thickness < views)
            low = middle;
        else
            high = middle;
    }
    assert_ok(mbir_streamed_plan(be, &p->model, count, high, 2, plan));
    backend_close(be);
    return high;
}

/* The steps of the whole: image and report agree but for the rounding of sums over blocks. */
static void compare_streamed(struct problem *p, int kind, int64_t views, struct worst *image)
{
    static const char *const kinds[] = {"plain", "weighted", "positive", "proximal", "initial"};
    struct mbir_streamed_plan plan;
    char where[80];
    const size_t room = room_of_views(p, views, &plan);
    float *w = random_floats(5, .5, 1.5, p->samples), *v = random_floats(6, 0, .02, p->voxels);
    snprintf(where, sizeof where, "%s, %s, %lld blocks of %lld views", p->name, kinds[kind],
             (long long)plan.blocks.count, (long long)plan.blocks.thickness);
    assert_true(plan.blocks.count > 1);
    p->model.regularisation.positivity = kind == POSITIVE;
    struct run whole = run_of(p, EARLY), streamed = run_of(p, EARLY);
    whole.w = streamed.w = kind == WEIGHTED_RUN ? w : NULL;
    whole.target = streamed.target = kind == PROXIMAL ? v : NULL;
    whole.initial = streamed.initial = kind == INITIAL ? v : NULL;
    assert_ok(solve(&whole, 0, 1));
    shim_reset_peaks();
    assert_ok(solve(&streamed, room, 0));
    assert_in_range(shim_counts().peak, 1, room);
    worst_note(image, where, distance(&streamed, &whole));
    for (int i = 0; i < EARLY; i++) {
        const double rmse = whole.report.fm_rmse[i];
        assert_near(streamed.report.fm_rmse[i] / rmse, 1, 1e-5);
        assert_int_equal(streamed.report.subsets[i], whole.report.subsets[i]);
    }
    check_residual(&streamed);
    run_free(&whole);
    run_free(&streamed);
    free(w);
    free(v);
}

static void cones_take_the_steps_of_the_whole(void **state)
{
    (void)state;
    struct worst image = {.what = "cone beams in blocks of views against the whole", .limit = 1e-6};
    for (int kind = 0; kind < kinds_here(); kind++) {
        struct problem p;
        open_solid(kind % 2 ? "cone_helical_curved" : "cone_even", &p);
        compare_streamed(&p, kind, 3 + 2 * (kind % 3), &image);
        problem_close(&p);
    }
    worst_check(&image);
}

static void streamed_failures_are_told_and_leave_nothing(void **state)
{
    (void)state;
    struct problem p;
    struct mbir_streamed_plan plan;
    open_solid("cone_even", &p);
    const size_t room = room_of_views(&p, 5, &plan);
    fail_each(&p, room, 7);
    problem_close(&p);
}

/* The choice is the model's: sending pays for large scans beside few threads, and not for small
 * ones. Sizes alone: nothing is allocated. */
static void cones_are_streamed_where_the_model_says_so(void **state)
{
    (void)state;
    static const struct test_case large = {
        "large",          .beam = BEAM_CONE,       .views = 1024,     .rows = 1024,
        .channels = 1024, .source_detector = 4096, .source_iso = 2048};
    struct mbir_streamed_plan few, many;
    struct problem p;
    struct ct_model m;
    int out_of_core;
    const int64_t pixels = 823549; /* of a disc */
    struct backend *be = device((size_t)16 << 30);
    assert_ok(case_model(&large, &m));
    assert_ok(mbir_streamed_plan(be, &m, pixels, (size_t)16 << 30, 2, &few));
    assert_ok(mbir_streamed_plan(be, &m, pixels, (size_t)16 << 30, 128, &many));
    assert_in_range(few.blocks.count, 2, 1024);
    assert_in_range(few.bytes, (size_t)8 << 30, (size_t)16 << 30);
    assert_true(few.seconds < few.seconds_on_cpu && many.seconds > many.seconds_on_cpu);
    assert_near(many.seconds, few.seconds, 1e-12);
    assert_near(few.seconds_on_cpu, 64 * many.seconds_on_cpu, 1e-6 * few.seconds_on_cpu);
    assert_error(mbir_streamed_plan(be, &m, pixels, (size_t)1 << 30, 2, &few), ERR_MEMORY,
                 "mbir_recon of one view at a time");
    ct_model_free(&m);
    open_solid("cone_even", &p);
    assert_error(recon_place(be, RECON_MBIR, &p.model, 1, (size_t)32 << 30, &out_of_core),
                 ERR_MEMORY, "every subset of cone beams needs all of its arrays");
    problem_close(&p);
    backend_close(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_group_is_the_whole),
        cmocka_unit_test(groups_find_the_same_minimum),
        cmocka_unit_test(an_interrupted_run_keeps_its_image),
        cmocka_unit_test(failures_are_told_and_leave_nothing),
        cmocka_unit_test(cones_take_the_steps_of_the_whole),
        cmocka_unit_test(streamed_failures_are_told_and_leave_nothing),
        cmocka_unit_test(cones_are_streamed_where_the_model_says_so),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
