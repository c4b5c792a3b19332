/* links: tp_operators */
/* The fast schedule of MBIR: the same minimum, in fewer iterations. */
#include <math.h>

#include "host/recon/recon.h"
#include "tests/operators/harness.h"

static const struct test_case fast_cases[] = {
    {"parallel", .beam = BEAM_PARALLEL, .views = 40, .rows = 4, .channels = 48},
    {"cone", .beam = BEAM_CONE, .views = 40, .rows = 12, .channels = 36, .source_detector = 144,
     .source_iso = 72},
};
#define FAST_CASES (int)(sizeof fast_cases / sizeof *fast_cases)

/* Two discs, and noise of 2 % of the largest sample. */
static float *fast_scan(struct rig *r)
{
    const struct volume *v = &r->model.volume;
    float *x = floats(r->voxels), *noise = random_floats(6, -1, 1, r->samples), most = 0;
    for (int64_t i = 0; i < r->voxels; i++) {
        const double row = (double)(i / v->slices / v->cols) / (double)v->rows - .5;
        const double col = (double)(i / v->slices % v->cols) / (double)v->cols - .5;
        x[i] = (float)((hypot(row, col) < .35) + (hypot(row - .1, col + .1) < .12));
    }
    float *y = rig_forward(r, rig_inside(r), x, SINO_CHANNELS_FASTEST);
    for (int64_t i = 0; i < r->samples; i++)
        most = fmaxf(most, y[i]);
    for (int64_t i = 0; i < r->samples; i++)
        y[i] += .02f * most * noise[i];
    free(x);
    free(noise);
    return y;
}

static float *fast_run(struct rig *r, const float *y, int iterations, int fast)
{
    float *blank = floats(r->voxels);
    struct buffer in = rig_push(r, y, r->samples), out = rig_push(r, blank, r->voxels);
    struct mbir_report report;
    struct mbir_options o = {.max_iterations = iterations, .fast = fast};
    void *const place = out.ptr;
    assert_ok(mbir_recon(r->be, &r->model, &in, &o, &out, &report));
    assert_ptr_equal(out.ptr, place);
    assert_int_equal(report.iterations, iterations);
    mbir_report_free(&report);
    r->be->ops->release(r->be, &in);
    free(blank);
    return rig_pull(r, &out, r->voxels);
}

static double fast_distance(const float *x, const float *limit, int64_t n)
{
    double *wide = widen(limit, n), d = relative_l2(x, wide, n);
    free(wide);
    return d;
}

static void fewer_iterations_reach_the_same_minimum(void **state)
{
    (void)state;
    for (int b = 0; harness_backend(b); b++)
        for (int i = 0; i < FAST_CASES; i++) {
            struct rig r;
            rig_open(&r, harness_backend(b), 1, &fast_cases[i]);
            float *y = fast_scan(&r), *limit = fast_run(&r, y, 80, 0);
            float *long_run = fast_run(&r, y, 50, 1);
            float *quick = fast_run(&r, y, 8, 1), *plain = fast_run(&r, y, 8, 0);
            const double same = fast_distance(long_run, limit, r.voxels);
            const double fast = fast_distance(quick, limit, r.voxels);
            const double slow = fast_distance(plain, limit, r.voxels);
            print_message(
                "%s: 50 fast iterations are %.1e from the minimum; 8 fast ones %.1e, 8 of "
                "MBIRJAX's schedule %.1e\n",
                r.name, same, fast, slow);
            if (same > 1e-3 || fast > .7 * slow)
                fail_msg("%s: the fast schedule is not faster, or ends elsewhere", r.name);
            free(y);
            free(limit);
            free(long_run);
            free(quick);
            free(plain);
            rig_close(&r);
        }
}

static void it_is_refused_beside_subsets_of_0_6(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, "cpu", 1, &fast_cases[0]);
    float *y = fast_scan(&r), *blank = floats(r.voxels);
    struct buffer in = rig_push(&r, y, r.samples), out = rig_push(&r, blank, r.voxels);
    struct mbir_report report;
    struct mbir_options o = {.max_iterations = 1, .fast = 1, .compat_06 = 1};
    assert_int_equal(mbir_recon(r.be, &r.model, &in, &o, &out, &report), ERR_USAGE);
    mbir_report_free(&report);
    r.be->ops->release(r.be, &in);
    r.be->ops->release(r.be, &out);
    free(y);
    free(blank);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewer_iterations_reach_the_same_minimum),
        cmocka_unit_test(it_is_refused_beside_subsets_of_0_6),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
