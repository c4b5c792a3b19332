/* links: tp_operators */
/* VCD against its float64 twin: volumes, automatic sigmas and the numbers of the report; its prior
 * terms by themselves; the stop rule. */
#include "host/geom/phantom.h"
#include "host/recon/recon.h"
#include "tests/operators/harness.h"
#include "tests/operators/twin_mbir.h"

#define ITERATIONS 5 /* partitions of 4, 16, 64, 128, 128 subsets */
#define SEED       11

/* Options of one reconstruction. */
static const struct variant {
    const char *name;
    int weighted, automatic, positivity;
    double sharpness, snr_db, sigma_y, sigma_x, p, q, T, neighbour_weights[3];
} variants[] = {
    {"automatic", 1, 1, 0, 1, 30, 1, 1, 2, 1.2, 1, {1, 1, 1}},
    {"positive, smooth", 0, 1, 1, -.5, 35, 1, 1, 2, 1.2, 1, {1, 1, 1}},
    {"own prior", 1, 0, 0, 1, 30, .1, .02, 1.9, 1.1, .7, {1, 2, .5}},
};
#define VARIANTS (int)(sizeof variants / sizeof *variants)

static void apply(const struct variant *v, struct regularisation *r)
{
    r->automatic = v->automatic;
    r->positivity = v->positivity;
    r->sharpness = v->sharpness;
    r->snr_db = v->snr_db;
    r->sigma_y = v->sigma_y;
    r->sigma_x = v->sigma_x;
    r->p = v->p;
    r->q = v->q;
    r->T = v->T;
    memcpy(r->neighbour_weights, v->neighbour_weights, sizeof v->neighbour_weights);
}

/* A noisy scan of the two ellipsoids: object, background and edge, as automatic regularisation
 * expects them. */
static float *scan_of(const struct rig *r)
{
    struct ellipsoid e[PHANTOM_MAX];
    int n = phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, &r->model.volume, e);
    float *y = floats(r->samples);
    phantom_project(e, n, &r->model.scan, y);
    noise_add(y, r->samples, .01, 5);
    return y;
}

/* mbir_recon; the volume is malloc'ed. */
static float *reconstruct(struct rig *r, const float *y, const float *w,
                          const struct mbir_options *options, struct mbir_report *report)
{
    float *noise = random_floats(4, 1, 2, r->voxels); /* must be overwritten */
    struct buffer data = rig_push(r, y, r->samples), weights = {0};
    struct buffer x = rig_push(r, noise, r->voxels);
    struct mbir_options o = *options;
    if (w) {
        weights = rig_push(r, w, r->samples);
        o.weights = &weights;
    }
    assert_ok(mbir_recon(r->be, &r->model, &data, &o, &x, report));
    if (w)
        r->be->ops->release(r->be, &weights);
    r->be->ops->release(r->be, &data);
    free(noise);
    return rig_pull(r, &x, r->voxels);
}

static double relative(double a, double b)
{
    return fabs(a - b) / fabs(b);
}

struct worsts {
    struct worst volume, sigma, trace;
};

static void compare_reports(const struct rig *r, const struct mbir_report *found,
                            const struct twin_report *expected, struct worst *w)
{
    worst_note(w, r->name, relative(found->initial_scale, expected->initial_scale));
    for (int it = 0; it < ITERATIONS; it++) {
        worst_note(w, r->name, relative(found->fm_rmse[it], expected->fm_rmse[it]));
        worst_note(w, r->name, relative(found->change_percent[it], expected->change_percent[it]));
        worst_note(w, r->name, relative(found->alpha[it], expected->alpha[it]));
    }
}

static void check_variant(struct rig *r, const struct variant *v, struct worsts *worst)
{
    apply(v, &r->model.regularisation);
    float *y = scan_of(r), *w = v->weighted ? random_floats(3, .5, 1.5, r->samples) : NULL;
    double *y64 = widen(y, r->samples), *w64 = w ? widen(w, r->samples) : NULL;
    double *expected = doubles(r->voxels);
    struct mbir_report report;
    struct twin_report twin;
    const struct mbir_options options = {.max_iterations = ITERATIONS, .seed = SEED};
    float *x = reconstruct(r, y, w, &options, &report);
    assert_int_equal(report.iterations, ITERATIONS);
    if (v->automatic)
        twin_auto_regularise(&r->model, y64, w64, &r->model.regularisation);
    worst_note(&worst->sigma, r->name, relative(report.sigma_y, r->model.regularisation.sigma_y));
    worst_note(&worst->sigma, r->name, relative(report.sigma_x, r->model.regularisation.sigma_x));
    twin_mbir(&r->model, r->inside, r->inside_count, y64, w64, ITERATIONS, SEED, expected, &twin);
    worst_note(&worst->volume, r->name, relative_l2(x, expected, r->voxels));
    compare_reports(r, &report, &twin, &worst->trace);
    mbir_report_free(&report);
    free(x);
    free(y);
    free(w);
    free(y64);
    free(w64);
    free(expected);
}

static void check_case(struct rig *r, const struct test_case *c, void *context)
{
    struct regularisation standard = r->model.regularisation;
    for (int i = 0; c->mbir && i < VARIANTS; i++) {
        check_variant(r, &variants[i], context);
        r->model.regularisation = standard;
    }
}

static void mbir_equals_its_twin(void **state)
{
    (void)state;
    struct worsts w = {.volume = {.what = "MBIR against its twin", .limit = 1e-4},
                       .sigma = {.what = "automatic sigmas", .limit = 1e-6},
                       .trace = {.what = "scale, residual, change and alpha", .limit = 1e-3}};
    for_each_case(check_case, &w);
    worst_check(&w.volume);
    worst_check(&w.sigma);
    worst_check(&w.trace);
}

/* Gradient and curvature at every second pixel inside, of values that hit omega's range: equal
 * neighbours, differences far below and far above sigma. */
static void check_prior(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    int64_t slices = r->model.volume.slices, count = r->inside_count / 2;
    int32_t *list = calloc((size_t)count + 1, sizeof *list);
    float *x = random_floats(1, -1, 1, r->voxels);
    for (int64_t i = 0; i < r->voxels; i++)
        x[i] = i % 3 ? x[i] * powf(10, (float)(i % 7 - 5)) : 0;
    for (int64_t q = 0; q < count; q++)
        list[q] = r->inside[2 * q];
    double *x64 = widen(x, r->voxels), *g64 = doubles(count * slices),
           *h64 = doubles(count * slices);
    for (int v = 0; v < VARIANTS; v++) {
        apply(&variants[v], &r->model.regularisation);
        r->model.regularisation.sigma_x = .02;
        struct buffer in = rig_push(r, x, r->voxels), g = rig_push(r, x, count * slices),
                      h = rig_push(r, x, count * slices);
        const struct prior prior = {.regularisation = &r->model.regularisation};
        const struct pixel_set pixels = {.indices = list, .count = count};
        assert_ok(r->be->ops->prior_terms(r->be, &r->model.volume, &prior, &pixels, &in, &g, &h));
        twin_prior(&r->model.volume, &r->model.regularisation, list, count, x64, g64, h64);
        r->be->ops->release(r->be, &in);
        float *gradient = rig_pull(r, &g, count * slices);
        float *curvature = rig_pull(r, &h, count * slices);
        worst_note(context, r->name, relative_l2(gradient, g64, count * slices));
        worst_note(context, r->name, relative_l2(curvature, h64, count * slices));
        free(gradient);
        free(curvature);
    }
    free(list);
    free(x);
    free(x64);
    free(g64);
    free(h64);
}

static void prior_terms_equal_their_twin(void **state)
{
    (void)state;
    struct worst w = {.what = "qGGMRF terms against their twin", .limit = 1e-5};
    for_each_case(check_prior, &w);
    worst_check(&w);
}

static void threshold_stops_after_the_first_small_change(void **state)
{
    (void)state;
    for (int b = 0; harness_backend(b); b++) {
        struct rig r;
        struct mbir_report all, stopped;
        rig_open(&r, harness_backend(b), 1, &cases[0]);
        float *y = scan_of(&r);
        const struct mbir_options full = {.max_iterations = 12, .seed = SEED};
        float *x = reconstruct(&r, y, NULL, &full, &all);
        assert_int_equal(all.iterations, 12);
        assert_false(all.stopped_by_threshold);
        struct mbir_options limited = full;
        limited.stop_threshold_percent = all.change_percent[7] * 1.0001;
        int expected = 0;
        while (all.change_percent[expected] >= limited.stop_threshold_percent)
            expected++;
        float *x_stopped = reconstruct(&r, y, NULL, &limited, &stopped);
        assert_int_equal(stopped.iterations, expected + 1);
        assert_true(stopped.stopped_by_threshold);
        mbir_report_free(&all);
        mbir_report_free(&stopped);
        free(x);
        free(x_stopped);
        free(y);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mbir_equals_its_twin),
        cmocka_unit_test(prior_terms_equal_their_twin),
        cmocka_unit_test(threshold_stops_after_the_first_small_change),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
