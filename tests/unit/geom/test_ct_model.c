/* links: tp_geom */
#include "host/geom/ct_model.h"
#include "tests/unit/check.h"

/* A cone scan of 6 views that resolves; tests change one thing. */
static struct ct_model cone(void)
{
    struct ct_model m;
    ct_model_init(&m);
    m.scan.beam = BEAM_CONE;
    m.scan.views = 6;
    m.scan.rows = 10;
    m.scan.channels = 20;
    m.scan.source_detector = 100;
    m.scan.source_iso = 50;
    m.scan.angles = angles_even(0, 2 * M_PI, 6);
    return m;
}

static struct ct_model parallel(void)
{
    struct ct_model m = cone();
    m.scan.beam = BEAM_PARALLEL;
    return m;
}

/* Automatic values of MBIRJAX 0.7.3 (auto_set_recon_geometry). */
struct automatic {
    enum beam beam;
    int64_t rows, channels;
    double D, d, dc, dr, row_aspect, slice_aspect;
    float shift_first,
        shift_last; /* helical, evenly from first to last over 6 views; 0, 0 = none */
    int64_t R, C, S;
    double delta, slice_offset;
};
static const struct automatic automatic_cases[] = {
    {BEAM_PARALLEL, 9, 31, 0, 0, 1, 1, 1, 1, 0, 0, 31, 31, 9, 1, 0},
    {BEAM_PARALLEL, 8, 32, 0, 0, .8, .8, 1, 1, 0, 0, 32, 32, 8, .8, 0},
    {BEAM_PARALLEL, 9, 31, 0, 0, 1, 1, 1.9, 1, 0, 0, 17, 31, 9, 1, 0},
    {BEAM_PARALLEL, 9, 31, 0, 0, 1, 1, .7, 1, 0, 0, 45, 31, 9, 1, 0},
    {BEAM_PARALLEL, 5, 30, 0, 0, 1, 1, 1.2, 1, 0, 0, 25, 30, 5, 1, 0},
    /* 27 * .1 / (.3 * .1) is 90.00000000000001 in float64: its ceiling is taken in float32 */
    {BEAM_PARALLEL, 4, 27, 0, 0, .1, .1, .3, 1, 0, 0, 90, 27, 4, .1, 0},
    {BEAM_CONE, 13, 27, 108, 54, 1, 1, 1, 1, 0, 0, 27, 27, 13, .5, 0},
    {BEAM_CONE, 16, 28, 120, 80, 1, 1, 1, 1, 0, 0, 28, 28, 16, 0.6666666666666666, 0},
    {BEAM_CONE, 40, 64, 256, 128, 1, 1, 1.9, 2.9, 0, 0, 34, 64, 14, .5, 0},
    /* 32.5 rounds to the even 32, 33.5 to 34 */
    {BEAM_CONE, 40, 65, 256, 100, 1, 1, 2, 1, 0, 0, 32, 65, 40, .390625, 0},
    {BEAM_CONE, 40, 67, 256, 100, 1, 1, 2, 1, 0, 0, 34, 67, 40, .390625, 0},
    {BEAM_CONE, 12, 29, 200.5, 61.3, .7, 1.3, 1, 1, 0, 0, 29, 29, 23, 0.2140149625935162, 0},
    {BEAM_CONE, 10, 20, 100, 50, 1, 1, 1, 1, -3, 3, 20, 20, 22, .5, 0},
    {BEAM_CONE, 10, 20, 100, 50, 1, .9, 1, .6, 0, 5.5f, 20, 20, 34, .5, 2.75},
    {BEAM_CONE, 10, 21, (double)INFINITY, 77, 1, 1.7, 1, 1, 0, 0, 21, 21, 17, 1, 0},
    {BEAM_CONE, 1, 1, 100, 50, 1, 1, 1, 1, 0, 0, 1, 1, 1, .5, 0},
    {BEAM_CONE, 3, 5, 100, 90, 1, 1, 1, 9, 0, 0, 5, 5, 1, 0.8999999999999999, 0},
    {BEAM_CONE, 48, 49, 1000, 40.7, 1, 1, 1, 1, 0, 0, 49, 49, 48, .0407, 0},
    {BEAM_CONE, 33, 45, 300, 299.9, 1. / 3, 1, 1. / 3, 1, 0, 0, 135, 45, 99, 0.33322222222222214,
     0},
};

static void test_automatic(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof automatic_cases / sizeof *automatic_cases; i++) {
        const struct automatic *a = &automatic_cases[i];
        struct ct_model m = cone();
        m.scan.beam = a->beam;
        m.scan.rows = a->rows;
        m.scan.channels = a->channels;
        m.scan.source_detector = a->D;
        m.scan.source_iso = a->d;
        m.scan.delta_channel = a->dc;
        m.scan.delta_row = a->dr;
        m.volume.row_aspect = a->row_aspect;
        m.volume.slice_aspect = a->slice_aspect;
        if (a->shift_first != a->shift_last) {
            float *z = angles_even(0, 1, 6);
            for (int v = 0; v < 6; v++)
                z[v] = a->shift_first + (a->shift_last - a->shift_first) * (float)v / 5;
            m.scan.z_shifts = z;
        }
        if (ct_model_resolve(&m))
            fail_msg("case %zu: %s", i, err_text());
        if (m.volume.rows != a->R || m.volume.cols != a->C || m.volume.slices != a->S)
            fail_msg("case %zu: (%ld, %ld, %ld), MBIRJAX has (%ld, %ld, %ld)", i,
                     (long)m.volume.rows, (long)m.volume.cols, (long)m.volume.slices, (long)a->R,
                     (long)a->C, (long)a->S);
        assert_near(m.volume.delta, a->delta, 1e-15);
        assert_near(m.volume.slice_offset, a->slice_offset, 1e-7);
        ct_model_free(&m);
    }
}

static void test_given_values_stay(void **state)
{
    (void)state;
    struct ct_model m = cone();
    m.volume.rows = 7;
    m.volume.cols = 8;
    m.volume.slices = 9;
    m.volume.delta = .25;
    m.volume.slice_offset = -1.5;
    assert_int_equal(ct_model_resolve(&m), ERR_OK);
    assert_int_equal(m.volume.rows, 7);
    assert_int_equal(m.volume.cols, 8);
    assert_int_equal(m.volume.slices, 9);
    assert_near(m.volume.delta, .25, 0);
    assert_near(m.volume.slice_offset, -1.5, 0);
    ct_model_free(&m);
}

/* The sides are at 5 from the axis, corners up to 6.5 towards the source at 60 degrees. */
static void corners_reach(struct ct_model *m)
{
    m->scan.source_iso = 5.5;
    m->volume.rows = m->volume.cols = 20;
    m->volume.delta = .5;
}

/* Makes one wrong field each; the sentence must name the parameter. */
#define WRONG(name, beam, change, key)                                                             \
    static void wrong_##name(struct ct_model *m)                                                   \
    {                                                                                              \
        change;                                                                                    \
    }
#define WRONG_LIST(X)                                                                              \
    X(views, cone, m->scan.views = 0, "sinogram_shape")                                            \
    X(rows, cone, m->scan.rows = -3, "sinogram_shape")                                             \
    X(channels, cone, m->scan.channels = (int64_t)1 << 40, "sinogram_shape")                       \
    X(product, cone, (m->scan.rows = m->scan.channels = INT32_MAX), "sinogram_shape")              \
    X(no_angles, cone, (free((void *)m->scan.angles), m->scan.angles = NULL), "angles")            \
    X(nan_angle, cone, ((float *)m->scan.angles)[4] = NAN, "angles[4]")                            \
    X(inf_angle, cone, ((float *)m->scan.angles)[0] = INFINITY, "angles[0]")                       \
    X(pitch, cone, m->scan.delta_channel = (double)NAN, "delta_det_channel")                       \
    X(pitch_zero, cone, m->scan.delta_row = 0, "delta_det_row")                                    \
    X(pitch_tiny, cone, m->scan.delta_row = 1e-300, "delta_det_row")                               \
    X(offset, cone, m->scan.channel_offset = (double)INFINITY, "det_channel_offset")               \
    X(row_offset, cone, m->scan.row_offset = (double)NAN, "det_row_offset")                        \
    X(near, cone, m->scan.source_iso = 0, "source_iso_dist")                                       \
    X(near_nan, cone, m->scan.source_iso = (double)NAN, "source_iso_dist")                         \
    X(far, cone, m->scan.source_detector = -1, "source_detector_dist")                             \
    X(order, cone, m->scan.source_detector = 49, "source_detector_dist")                           \
    X(both, cone, m->scan.source_iso = (double)INFINITY, "source_detector_dist")                   \
    X(reaches, cone, corners_reach(m), "source_iso_dist")                                          \
    X(reaches_side, cone, (m->volume.delta = 5, m->volume.cols = 20), "source_iso_dist")           \
    X(delta, cone, m->volume.delta = -1, "delta_voxel")                                            \
    X(delta_nan, cone, m->volume.delta = (double)NAN, "delta_voxel")                               \
    X(delta_units, cone, m->volume.delta = 1e-6, "delta_voxel")                                    \
    X(row_aspect, cone, m->volume.row_aspect = 0, "voxel_row_aspect")                              \
    X(slice_aspect, cone, m->volume.slice_aspect = -1, "voxel_slice_aspect")                       \
    X(slice_units, cone, m->volume.slice_aspect = 1e8, "voxel_slice_aspect")                       \
    X(slice_offset, cone, m->volume.slice_offset = (double)INFINITY, "recon_slice_offset")         \
    X(shape, cone, m->volume.cols = -2, "recon_shape")                                             \
    X(shape_large, cone, m->volume.slices = (int64_t)1 << 40, "recon_shape")                       \
    X(pixels, cone, (m->volume.rows = m->volume.cols = 65536, m->volume.delta = 1e-4),             \
      "recon_shape")                                                                               \
    X(auto_empty, cone, m->volume.row_aspect = 50, "recon_shape")                                  \
    X(parallel_aspect, parallel, m->volume.slice_aspect = 2, "voxel_slice_aspect")                 \
    X(parallel_slices, parallel, m->volume.slices = 11, "recon_shape")                             \
    X(parallel_pitch, parallel, m->scan.delta_row = 2, "delta_det_row")                            \
    X(parallel_offset, parallel, m->volume.slice_offset = 1, "recon_slice_offset")                 \
    X(parallel_helix, parallel, m->scan.z_shifts = angles_even(0, 1, 6), "helical_z_shifts")       \
    X(parallel_curved, parallel, m->scan.curved = 1, "use_curved_detector")                        \
    X(sigma, cone, m->regularisation.sigma_x = 0, "sigma_x")                                       \
    X(power, cone, m->regularisation.q = (double)NAN, "q is")                                      \
    X(sharpness, cone, m->regularisation.sharpness = 1e9, "sharpness")                             \
    X(snr, cone, m->regularisation.snr_db = (double)NAN, "snr_db")                                 \
    X(weight, cone, m->regularisation.neighbour_weights[2] = -1, "qggmrf_nbr_wts[2]")              \
    X(weights, cone,                                                                               \
      (m->regularisation.neighbour_weights[0] = m->regularisation.neighbour_weights[1] =           \
           m->regularisation.neighbour_weights[2] = 0),                                            \
      "qggmrf_nbr_wts")
WRONG_LIST(WRONG)

static void test_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct ct_model (*base)(void);
        void (*change)(struct ct_model *m);
        const char *key;
    } cases[] = {
#define ROW(name, beam, change, key) {#name, beam, wrong_##name, key},
        WRONG_LIST(ROW)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ct_model m = cases[i].base();
        assert_int_equal(ct_model_resolve(&m), ERR_OK); /* right without the change */
        ct_model_free(&m);
        m = cases[i].base();
        cases[i].change(&m);
        enum err e = ct_model_resolve(&m);
        if (e != ERR_INPUT)
            fail_msg("%s: accepted (%s)", cases[i].name, err_name(e));
        if (!strstr(err_text(), cases[i].key))
            fail_msg("%s: \"%s\" does not name %s", cases[i].name, err_text(), cases[i].key);
        ct_model_free(&m);
    }
}

static void test_magnification(void **state)
{
    (void)state;
    struct ct_model m = cone();
    assert_near(scan_magnification(&m.scan), 2, 0);
    m.scan.source_detector = (double)INFINITY;
    assert_near(scan_magnification(&m.scan), 1, 0);
    assert_int_equal(ct_model_resolve(&m), ERR_OK);
    m.scan.source_iso = (double)INFINITY;
    assert_int_equal(ct_model_resolve(&m), ERR_OK);
    assert_near(scan_magnification(&m.scan), 1, 0);
    ct_model_free(&m);
}

/* Count and sum of the indices of MBIRJAX's get_2d_ror_mask. */
static void test_mask(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, cols, count, sum;
    } cases[] = {
        {33, 57, 1401, 1316940},
        {57, 33, 1401, 1316940},
        {2, 2, 0, 0},
        {3, 3, 5, 20},
        {2, 3, 2, 5},
        {1, 5, 0, 0},
        {5, 1, 0, 0},
        {1, 1, 0, 0},
        {13, 25, 221, 35802},
        {101, 11, 763, 423465},
        {127, 127, 12453, 100420992},
        {85, 85, 5525, 19956300},
        {25, 65, 1193, 968716},
        {96, 96, 7080, -1},
        {97, 97, 7213, -1},
        {160, 160, 19856, -1},
        {992, 992, 771240, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct volume v = {.rows = cases[i].rows, .cols = cases[i].cols, .ror = ROR_ELLIPSE};
        int32_t *pixels;
        int64_t count, sum = 0;
        assert_int_equal(volume_pixels_inside(&v, &pixels, &count), ERR_OK);
        assert_int_equal(count, cases[i].count);
        for (int64_t p = 0; p < count; p++) {
            sum += pixels[p];
            assert_true(!p || pixels[p] > pixels[p - 1]);
        }
        if (cases[i].sum >= 0)
            assert_int_equal(sum, cases[i].sum);
        free(pixels);
        v.ror = ROR_NONE;
        assert_int_equal(volume_pixels_inside(&v, &pixels, &count), ERR_OK);
        assert_int_equal(count, v.rows * v.cols);
        assert_int_equal(pixels[count - 1], count - 1);
        free(pixels);
    }
    struct volume v = {.rows = 65536, .cols = 65536, .ror = ROR_NONE};
    int32_t *pixels;
    int64_t count;
    assert_int_equal(volume_pixels_inside(&v, &pixels, &count), ERR_INPUT);
    assert_non_null(strstr(err_text(), "recon_shape"));
}

static void test_angles(void **state)
{
    (void)state;
    /* numpy.linspace(-0.3, 5.9, 24, endpoint=False).astype(float32): its first three and its last
     */
    float *a = angles_even(-.3, 6.2, 24);
    assert_true(a[0] == -0.3f && a[1] == -0.0416666679084301f && a[2] == 0.21666666865348816f);
    assert_true(a[23] == 5.641666889190674f);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_automatic), cmocka_unit_test(test_given_values_stay),
        cmocka_unit_test(test_wrong),     cmocka_unit_test(test_magnification),
        cmocka_unit_test(test_mask),      cmocka_unit_test(test_angles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
