/* links: tp_geom */
#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "tests/unit/check.h"

static struct volume volume_of(int64_t rows, int64_t cols, int64_t slices)
{
    return (struct volume){.rows = rows,
                           .cols = cols,
                           .slices = slices,
                           .delta = 1,
                           .row_aspect = 1,
                           .slice_aspect = 1};
}

/* MBIRJAX's generate_3d_shepp_logan_low_dynamic_range: sums over two shapes, and samples. */
static void test_shepp_logan(void **state)
{
    (void)state;
    static const struct {
        int64_t i, j, k;
        float value;
    } samples[] = {
        {16, 14, 8, .2f}, {16, 5, 8, .2f}, {24, 14, 8, .2f}, {16, 20, 8, .3f}, {0, 0, 0, 0}};
    struct ellipsoid e[PHANTOM_MAX];
    struct volume v = volume_of(33, 29, 17);
    float *x = malloc((size_t)volume_voxels(&v) * sizeof *x);
    int n = phantom_ellipsoids(PHANTOM_SHEPP_LOGAN, &v, e);
    assert_int_equal(n, 9);
    phantom_fill(e, n, &v, x);
    double sum = 0;
    for (int64_t p = 0; p < volume_voxels(&v); p++)
        sum += (double)x[p];
    assert_near(sum, 1236.7, 0.01);
    for (size_t p = 0; p < sizeof samples / sizeof *samples; p++)
        assert_near((double)x[(samples[p].i * 29 + samples[p].j) * 17 + samples[p].k],
                    (double)samples[p].value, 1e-6);
    free(x);
}

/* A ball of radius 5 and value .1 at (3, -2, 1): the chord through its centre is 10, and 2 sqrt(25
 * - t^2) beside it, whatever the view. */
static const struct ellipsoid ball = {3, -2, 1, 5, 5, 5, .4, .1};

static float project_one(const struct scan *s)
{
    float y;
    phantom_project(&ball, 1, s, &y);
    return y;
}

static void test_parallel_ball(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        float theta = (float)k * .55f;
        double x = 3 * cos((double)theta) + 2 * sin((double)theta); /* c x~ - s y~ */
        struct scan s = {.beam = BEAM_PARALLEL,
                         .views = 1,
                         .rows = 3,
                         .channels = 1,
                         .delta_row = 1,
                         .delta_channel = 1,
                         .channel_offset = -x,
                         .angles = &theta};
        float y[3];
        phantom_project(&ball, 1, &s, y);
        assert_near(y[2], 1, 1e-6); /* row 2 is z = 1 */
        assert_near(y[1], .2 * sqrt(24), 1e-6);
        s.channel_offset = -x - 3;
        phantom_project(&ball, 1, &s, y);
        assert_near(y[2], .8, 1e-6);
        s.channel_offset = -x + 5.1;
        assert_true((phantom_project(&ball, 1, &s, y), y[2] == 0));
    }
}

/* The ray to where the centre projects (u = g x, v = g z, MBIRJAX's cone) passes through the
 * centre. */
static void test_cone_ball(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++)
        for (int curved = 0; curved < 2; curved++) {
            float theta = (float)k * .55f, shift = .75f * (float)(k % 3);
            double c = cos((double)theta), sn = sin((double)theta), D = 60, d = 35;
            double x = 3 * c + 2 * sn, y = 3 * sn - 2 * c, z = 1 - (double)shift;
            double g = 1 / (d / D - y / D);
            double u = curved ? D * atan2(x, d - y) : g * x;
            struct scan s = {.beam = BEAM_CONE,
                             .views = 1,
                             .rows = 1,
                             .channels = 1,
                             .delta_row = 1,
                             .delta_channel = 1,
                             .row_offset = -g * z,
                             .channel_offset = -u,
                             .source_detector = D,
                             .source_iso = d,
                             .curved = curved,
                             .angles = &theta,
                             .z_shifts = &shift};
            assert_near(project_one(&s), 1, 1e-6);
            s.row_offset += 30; /* far above the ball */
            assert_true(project_one(&s) == 0);
        }
}

static void test_cone_at_infinity_is_parallel(void **state)
{
    (void)state;
    float theta = .7f;
    struct scan s = {.beam = BEAM_CONE,
                     .views = 1,
                     .rows = 1,
                     .channels = 1,
                     .delta_row = 1,
                     .delta_channel = 1,
                     .row_offset = -1.5,
                     .channel_offset = -2,
                     .angles = &theta,
                     .source_detector = (double)INFINITY,
                     .source_iso = 10};
    float far = project_one(&s);
    s.source_detector = 1e8 + 10;
    s.source_iso = 1e8;
    assert_true(far > 0.5f);
    assert_near((double)far, (double)project_one(&s), 1e-6);
}

/* Sum of samples times pitch along rows = the line integral, to the error of voxel sampling; a
 * tilted ellipse on an anisotropic grid of unequal extents. */
static void test_samples_agree_with_integrals(void **state)
{
    (void)state;
    struct volume v = {
        .rows = 301, .cols = 200, .slices = 3, .delta = .5, .row_aspect = .4, .slice_aspect = 1};
    struct ellipsoid e[PHANTOM_MAX];
    int n = phantom_ellipsoids(PHANTOM_SHEPP_LOGAN, &v, e);
    float *x = malloc((size_t)volume_voxels(&v) * sizeof *x), zero = 0, y[200];
    phantom_fill(e, n, &v, x);
    struct scan s = {.beam = BEAM_PARALLEL,
                     .views = 1,
                     .rows = 1,
                     .channels = 200,
                     .delta_row = .5,
                     .delta_channel = .5,
                     .angles = &zero};
    phantom_project(e, n, &s, y);
    double worst = 0, largest = 0;
    for (int j = 0; j < 200; j++) {
        double sum = 0;
        for (int i = 0; i < 301; i++)
            sum += (double)x[(i * 200 + j) * 3 + 1] * .2;
        worst = fmax(worst, fabs(sum - (double)y[j]));
        largest = fmax(largest, (double)y[j]);
    }
    assert_true(largest > 10);
    assert_true(worst < .5); /* one voxel (.2) in or out at each of a few edges */
    free(x);
}

static void test_two_ellipsoids(void **state)
{
    (void)state;
    struct volume v = volume_of(64, 64, 64);
    struct ellipsoid e[PHANTOM_MAX];
    assert_int_equal(phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, &v, e), 2);
    float angles[2] = {0, (float)(M_PI / 2)}, *y = malloc(2 * 64 * 64 * sizeof *y), largest = 0;
    struct scan s = {.beam = BEAM_PARALLEL,
                     .views = 2,
                     .rows = 64,
                     .channels = 64,
                     .delta_row = 1,
                     .delta_channel = 1,
                     .angles = angles};
    phantom_project(e, 2, &s, y);
    for (int i = 0; i < 2 * 64 * 64; i++)
        largest = fmaxf(largest, y[i]);
    assert_in_range((int)(largest * 100), 100, 200);
    for (int row = 0; row < 2; row++) /* clear of the detector's edges */
        for (int i = 0; i < 64; i++)
            assert_true(y[row * 64 * 64 + i] == 0 && y[row * 64 * 64 + i * 64] == 0);
    free(y);
}

static void test_noise(void **state)
{
    (void)state;
    enum { N = 100001 };
    float *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
    a[7] = b[7] = -20;
    noise_add(a, N, .05, 42);
    noise_add(b, N, .05, 42);
    assert_memory_equal(a, b, N * sizeof *a);
    a[7] += 20;
    double mean = 0, square = 0, cube = 0;
    for (int i = 0; i < N; i++) {
        double x = (double)a[i];
        mean += x / N;
        square += x * x / N;
        cube += x * x * x / N;
    }
    assert_near(mean, 0, .015); /* sigma is 1; standard errors .003, .004, .012 */
    assert_near(square, 1, .02);
    assert_near(cube, 0, .06);
    noise_add(b, N, .05, 43);
    assert_true(a[100] != b[100]);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shepp_logan),
        cmocka_unit_test(test_parallel_ball),
        cmocka_unit_test(test_cone_ball),
        cmocka_unit_test(test_cone_at_infinity_is_parallel),
        cmocka_unit_test(test_samples_agree_with_integrals),
        cmocka_unit_test(test_two_ellipsoids),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
