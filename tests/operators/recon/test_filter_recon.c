/* links: tp_operators */
/* The FBP and FDK filters and the direct reconstructions against their twins. */
#include "host/recon/recon.h"
#include "tests/operators/harness.h"
#include "tests/operators/twin.h"

static float *filter(struct rig *r, const float *y, int in_place)
{
    struct buffer in = rig_push(r, y, r->samples), out = rig_push(r, y, r->samples);
    assert_ok(direct_filter(r->be, &r->model, &in, in_place ? &in : &out));
    float *filtered = rig_pull(r, in_place ? &in : &out, r->samples);
    r->be->ops->release(r->be, in_place ? &out : &in);
    return filtered;
}

static void check_filter(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *y = random_floats(2, 0, 1, r->samples);
    double *y64 = widen(y, r->samples), *expected = doubles(r->samples);
    twin_filter(&r->model, y64, expected);
    for (int in_place = 0; in_place < 2; in_place++) {
        float *found = filter(r, y, in_place);
        worst_note(context, r->name, relative_l2(found, expected, r->samples));
        free(found);
    }
    free(y);
    free(y64);
    free(expected);
}

static void filter_equals_its_twin(void **state)
{
    (void)state;
    struct worst w = {.what = "filter against its twin", .limit = 1e-5};
    for_each_case(check_filter, &w);
    worst_check(&w);
}

/* Single samples: the filter's taps themselves, zeros where the ramp has them. */
static void filter_of_one_sample_is_the_ramp(void **state)
{
    (void)state;
    struct worst w = {.what = "taps of the ramp", .limit = 1e-6};
    for (int b = 0; harness_backend(b); b++) {
        static const struct test_case line = {"line", .beam = BEAM_PARALLEL, .views = 1, .rows = 1,
                                              .channels = 41};
        struct rig r;
        rig_open(&r, harness_backend(b), 1, &line);
        float *y = floats(r.samples);
        y[17] = 1;
        float *h = filter(&r, y, 0);
        for (int n = 0; n < 41; n++) {
            double odd = (n - 17) % 2 ? -1 / (M_PI * M_PI * (n - 17) * (n - 17)) : 0;
            double tap = n == 17 ? .25 : odd;
            worst_note(&w, r.name, fabs((double)h[n] / M_PI - tap));
        }
        free(y);
        free(h);
        rig_close(&r);
    }
    worst_check(&w);
}

/* scratch: a buffer of its own, or the sinogram itself. */
static void check_recon(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *y = random_floats(2, 0, 1, r->samples), *noise = random_floats(1, 1, 2, r->voxels);
    double *y64 = widen(y, r->samples), *expected = doubles(r->voxels);
    twin_direct_recon(&r->model, r->inside, r->inside_count, y64, expected);
    for (int in_place = 0; in_place < 2; in_place++) {
        struct buffer in = rig_push(r, y, r->samples), scratch = rig_push(r, y, r->samples);
        struct buffer out = rig_push(r, noise, r->voxels); /* must be overwritten */
        assert_ok(direct_recon(r->be, &r->model, &in, in_place ? &in : &scratch, &out));
        r->be->ops->release(r->be, &in);
        r->be->ops->release(r->be, &scratch);
        float *found = rig_pull(r, &out, r->voxels);
        worst_note(context, r->name, relative_l2(found, expected, r->voxels));
        free(found);
    }
    free(y);
    free(noise);
    free(y64);
    free(expected);
}

static void direct_recon_equals_its_twin(void **state)
{
    (void)state;
    struct worst w = {.what = "direct reconstruction against its twin", .limit = 1e-5};
    for_each_case(check_recon, &w);
    worst_check(&w);
}

/* The median of 27 = the 14th smallest: sizes down to 1 and beyond a vector, against the twin,
 * exactly. */
static void median_equals_its_twin(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},  {3, 3, 3},  {1, 5, 9},   {7, 1, 2},
                                       {4, 6, 16}, {5, 3, 17}, {9, 12, 33}, {2, 2, 70}};
    for (int b = 0; harness_backend(b); b++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct rig r = {0};
            assert_ok(
                backend_open(harness_backend(b), &(struct backend_options){.threads = 1}, &r.be));
            const int64_t *n = sizes[i], count = n[0] * n[1] * n[2];
            float *x = random_floats(i, -1, 1, count), *expected = floats(count);
            twin_median(n[0], n[1], n[2], x, expected);
            struct buffer in = rig_push(&r, x, count), out = rig_push(&r, x, count);
            assert_ok(r.be->ops->median3(r.be, n[0], n[1], n[2], &in, &out));
            r.be->ops->release(r.be, &in);
            float *found = rig_pull(&r, &out, count);
            assert_memory_equal(found, expected, (size_t)count * sizeof *found);
            free(x);
            free(expected);
            free(found);
            backend_close(r.be);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_equals_its_twin),
        cmocka_unit_test(filter_of_one_sample_is_the_ramp),
        cmocka_unit_test(direct_recon_equals_its_twin),
        cmocka_unit_test(median_equals_its_twin),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
