/* links: tp_operators */
/* Translation and multi-axis scans where they are scans of other geometries: rays that are not
 * tilted are a parallel beam's, an object that does not move is a cone beam's at angle 0. */
#include "host/recon/recon.h"
#include "tests/operators/harness.h"

#define LIMIT 1e-6

static const struct test_case pairs[][2] = {
    {{"level", .beam = BEAM_CONE, .views = 13, .rows = 9, .channels = 19,
      .source_detector = INFINITY, .source_iso = INFINITY, .start = .1, .extent = 3, .level = 1,
      .channel_offset = .4, .row_aspect = 1.7},
     {"parallel", .beam = BEAM_PARALLEL, .views = 13, .rows = 9, .channels = 19, .start = .1,
      .extent = 3, .channel_offset = .4, .row_aspect = 1.7, .shape = {11, 19, 9}}},
    {{"still", .beam = BEAM_CONE, .views = 1, .rows = 12, .channels = 17, .source_detector = 80,
      .source_iso = 40, .shift = 1e-30, .row_aspect = .3, .shape = {9, 16, 11}, .row_offset = .4},
     {"cone", .beam = BEAM_CONE, .views = 1, .rows = 12, .channels = 17, .source_detector = 80,
      .source_iso = 40, .row_aspect = .3, .shape = {9, 16, 11}, .row_offset = .4}},
};

/* Compares forward, back and Hessian of both, on the same numbers. */
static void compare(const char *backend, const struct test_case pair[2], struct worst *worst)
{
    float *result[2][3];
    int64_t size[3] = {0};
    for (int i = 0; i < 2; i++) {
        struct rig r;
        rig_open(&r, backend, 1, &pair[i]);
        const int64_t sizes[3] = {r.samples, r.voxels, r.voxels};
        float *x = random_floats(1, -1, 1, r.voxels), *y = random_floats(2, 0, 1, r.samples);
        for (int k = 0; k < 3; k++) {
            float *blank = floats(sizes[k]);
            struct buffer in = rig_push(&r, k ? y : x, k ? r.samples : r.voxels);
            struct buffer out = rig_push(&r, blank, sizes[k]);
            assert_true(!i || size[k] == sizes[k]);
            size[k] = sizes[k];
            assert_ok((k == 0   ? forward_project
                       : k == 1 ? back_project
                                : hessian_diagonal)(r.be, &r.model, &in, &out));
            r.be->ops->release(r.be, &in);
            result[i][k] = rig_pull(&r, &out, sizes[k]);
            free(blank);
        }
        free(x);
        free(y);
        rig_close(&r);
    }
    for (int k = 0; k < 3; k++) {
        double *expected = widen(result[1][k], size[k]);
        worst_note(worst, pair[0].name, relative_l2(result[0][k], expected, size[k]));
        free(expected);
        free(result[0][k]);
        free(result[1][k]);
    }
}

static void equal_the_others(void **state)
{
    (void)state;
    struct worst w = {.what = "level and still scans", .limit = LIMIT};
    for (int b = 0; harness_backend(b); b++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            compare(harness_backend(b), pairs[i], &w);
    worst_check(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_the_others)};
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
