/* links: tp_store */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "host/store/format/geometry_json.h"
#include "tests/unit/check.h"

#define PARALLEL "\"geometry\": \"parallel\", \"sinogram_shape\": [3, 4, 5], \"angles\": [0, 1, 2]"
#define CONE                                                                                       \
    "\"geometry\": \"cone\", \"sinogram_shape\": [3, 4, 5], \"angles\": [0, 1, 2.5], "             \
    "\"source_detector_dist\": 20, \"source_iso_dist\": 10"

#define MOVED                                                                                      \
    "\"geometry\": \"translation\", \"sinogram_shape\": [3, 40, 50], \"recon_shape\": [3, 5, 4], " \
    "\"source_detector_dist\": 80, \"source_iso_dist\": 40"
#define VECTORS "\"translation_vectors\": [[-2, 0, 1], [0, 0.5, 0], [2, -0.25, -1.5]]"
#define TILTED  "\"geometry\": \"multiaxis\", \"sinogram_shape\": [3, 4, 5]"

static enum err parse(const char *text, struct ct_model *m)
{
    return ct_model_parse("g.json", text, strlen(text), m);
}

static void test_defaults(void **state)
{
    (void)state;
    struct ct_model m;
    assert_ok(parse("{" PARALLEL "}", &m));
    assert_int_equal(m.scan.beam, BEAM_PARALLEL);
    assert_int_equal(m.scan.views, 3);
    assert_int_equal(m.scan.rows, 4);
    assert_int_equal(m.scan.channels, 5);
    assert_true(m.scan.angles[2] == 2);
    assert_null(m.scan.z_shifts);
    assert_int_equal(m.volume.rows, 5);
    assert_int_equal(m.volume.slices, 4);
    assert_int_equal(m.volume.ror, ROR_ELLIPSE);
    assert_true(m.regularisation.automatic && !m.regularisation.positivity);
    assert_near(m.regularisation.snr_db, 30, 0);
    ct_model_free(&m);
}

static void test_every_key(void **state)
{
    (void)state;
    struct ct_model m;
    assert_ok(parse(
        "{" CONE ", \"use_curved_detector\": true, \"helical_z_shifts\": [-1, 0, 1], "
        "\"delta_det_channel\": 0.5, \"delta_det_row\": 0.25, \"det_channel_offset\": 0.1, "
        "\"det_row_offset\": -0.2, \"recon_shape\": [6, 7, 8], \"delta_voxel\": 0.3, "
        "\"voxel_row_aspect\": 1.5, \"voxel_slice_aspect\": 2.5, \"recon_slice_offset\": 0.4, "
        "\"use_ror_mask\": false, \"sharpness\": 2, \"snr_db\": 40, \"sigma_y\": 0.1, "
        "\"sigma_x\": 0.2, \"sigma_prox\": 0.3, \"p\": 1.9, \"q\": 1.1, \"T\": 0.9, "
        "\"qggmrf_nbr_wts\": [1, 2, 3], \"positivity_flag\": true, "
        "\"auto_regularize_flag\": false, \"max_overrelaxation\": 1.25}",
        &m));
    const struct regularisation *r = &m.regularisation;
    assert_int_equal(m.scan.curved, 1);
    assert_true(m.scan.z_shifts[0] == -1 && m.scan.z_shifts[2] == 1);
    assert_near(m.scan.delta_channel, .5, 0);
    assert_near(m.scan.delta_row, .25, 0);
    assert_near(m.scan.channel_offset, .1, 0);
    assert_near(m.scan.row_offset, -.2, 0);
    assert_near(m.scan.source_detector, 20, 0);
    assert_near(m.scan.source_iso, 10, 0);
    assert_int_equal(m.volume.rows, 6);
    assert_int_equal(m.volume.cols, 7);
    assert_int_equal(m.volume.slices, 8);
    assert_near(m.volume.delta, .3, 0);
    assert_near(m.volume.row_aspect, 1.5, 0);
    assert_near(m.volume.slice_aspect, 2.5, 0);
    assert_near(m.volume.slice_offset, .4, 0);
    assert_int_equal(m.volume.ror, ROR_NONE);
    assert_near(r->sharpness + r->snr_db, 42, 0);
    assert_near(r->sigma_y * 100 + r->sigma_x * 10 + r->sigma_prox, 12.3, 1e-12);
    assert_near(r->p * 100 + r->q * 10 + r->T, 201.9, 1e-12);
    assert_near(r->neighbour_weights[1], 2, 0);
    assert_true(r->positivity && !r->automatic);
    assert_near(r->max_overrelaxation, 1.25, 0);
    ct_model_free(&m);
}

static void test_meanings(void **state)
{
    (void)state;
    struct ct_model m;
    assert_ok(parse("{" PARALLEL ", \"sigma_x\": 0.5}", &m)); /* as MBIRJAX: automatic goes off */
    assert_int_equal(m.regularisation.automatic, 0);
    ct_model_free(&m);
    assert_ok(parse("{" PARALLEL ", \"max_alpha\": 1.1, \"auto_regularize_flag\": true}", &m));
    assert_near(m.regularisation.max_overrelaxation, 1.1, 0);
    assert_int_equal(m.regularisation.automatic, 1);
    ct_model_free(&m);
    static const char *const infinities[] = {"\"inf\"", "1e999", "Infinity"};
    for (int i = 0; i < 3; i++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "{\"geometry\": \"cone\", \"sinogram_shape\": [1, 4, 5], \"angles\": [0], "
            "\"source_detector_dist\": %s, \"source_iso_dist\": 10, \"helical_z_shifts\": null}",
            infinities[i]);
        assert_ok(parse(text, &m));
        assert_true(isinf(m.scan.source_detector));
        ct_model_free(&m);
    }
}

#define WITH(more) "{" PARALLEL ", " more "}"
static const struct {
    const char *text, *words;
} wrong[] = {
    {"", "line 1, column 1"},
    {"[]", "one JSON object"},
    {"{", "valid JSON"},
    {"{\n  \"geometry\": }", "line 2, column 15"},
    {"{" PARALLEL "} x", "valid JSON"},
    {"{" PARALLEL "}{}", "valid JSON"},
    {"{\"geometry\": \"parallel\", \"sinogram_shape\": [3, 4, 5], \"angles\": [0, 1, NaN]}",
     "valid JSON"},
    {"{}", "\"geometry\" is missing"},
    {"{\"geometry\": \"parallel\"}", "\"sinogram_shape\" is missing"},
    {"{\"geometry\": \"parallel\", \"sinogram_shape\": [3, 4, 5]}", "\"angles\" is missing"},
    {"{\"geometry\": \"cone\", \"sinogram_shape\": [1, 4, 5], \"angles\": [0]}",
     "source_detector_dist"},
    {"{" MOVED ", \"translation_vectors\": [[0, 0], [1, 1], [2, 2]]}",
     "translation_vectors has 2 numbers per view: give [x, y, z]"},
    {"{" MOVED ", \"translation_vectors\": [0, 1, 2]}",
     "translation_vectors has 1 number per view"},
    {"{" MOVED ", \"translation_vectors\": [[0, 0, 0], [1, 1, 1]]}",
     "translation_vectors has 2 entries"},
    {"{" MOVED ", \"translation_vectors\": [[0, 0, 0], [1, 1, 1], [1, 1]]}",
     "translation_vectors[2] must be a list of 3 numbers"},
    {"{" MOVED ", \"translation_vectors\": [[0, 0, 0], [1, 1, null], [1, 1, 1]]}",
     "translation_vectors[1] must be a list of numbers"},
    {"{" MOVED ", \"translation_vectors\": [[0, 0, 0], [1, 1, 1e999], [1, 1, 1]]}",
     "translation_vectors[1][2] is inf"},
    {"{" MOVED ", \"translation_vectors\": [[0, 0, 0], [1, 35, 0], [1, 1, 1]]}",
     "source_iso_dist is"},
    {"{" MOVED ", \"translation_vectors\": [[1], [1], [1]]}",
     "translation_vectors[0] must be a number, or a list of 2 or 3 numbers; it has 1"},
    {"{" MOVED "}", "translation_vectors\" is missing"},
    {"{" MOVED ", " VECTORS ", \"angles\": [0, 0, 0]}", "angles: only parallel"},
    {"{" MOVED ", " VECTORS ", \"recon_slice_offset\": 1}", "recon_slice_offset: only cone"},
    {"{" MOVED ", " VECTORS ", \"helical_z_shifts\": [0, 0, 1]}", "helical_z_shifts: only cone"},
    {"{" MOVED ", " VECTORS ", \"use_curved_detector\": true}", "use_curved_detector: only cone"},
    {"{\"geometry\": \"translation\", \"sinogram_shape\": [1, 4, 5], \"source_detector_dist\": "
     "\"inf\", "
     "\"source_iso_dist\": \"inf\", \"translation_vectors\": [[0, 0, 1]]}",
     "source_detector_dist is infinite"},
    {"{\"geometry\": \"translation\", \"sinogram_shape\": [1, 4, 5], \"source_detector_dist\": 80, "
     "\"source_iso_dist\": 40, \"translation_vectors\": [[0, 0, 1]]}",
     "recon_shape would be (0, 0, 0)"},
    {"{" TILTED ", \"angles\": [0, 1, 2]}",
     "angles has 1 number per view: give [azimuth, elevation]"},
    {"{" TILTED ", \"angles\": [[0, 0.1], [1, 1.6], [2, 0]]}",
     "angles[1] has the elevation 1.6: it must lie within"},
    {"{" TILTED ", \"angles\": [[0, 0.1], [1, 0], [2, 0]], \"source_iso_dist\": 4}",
     "source_iso_dist: only cone"},
    {"{" TILTED ", \"angles\": [[0, 0.1], [1, 0], [2, 0]], \"helical_z_shifts\": [0, 0, 1]}",
     "helical_z_shifts: only cone"},
    {WITH("\"translation_vectors\": [[0, 0, 0], [0, 0, 0], [0, 0, 1]]"),
     "translation_vectors: only translation"},
    {"{\"geometry\": \"parallel\", \"sinogram_shape\": [2, 4, 5], \"angles\": [[0, 1], [1, 1]]}",
     "angles has 2 numbers per view: give one angle"},
    {"{\"geometry\": \"fan\"}", "geometry must be"},
    {"{\"geometry\": 3}", "geometry must be"},
    {WITH("\"delta_voxle\": 1"), "delta_voxel"},
    {WITH("\"Angles\": []"), "angles"},
    {WITH("\"zzzzzzzzzz\": 1"), "unknown key \"zzzzzzzzzz\""},
    {WITH("\"p\": 2, \"p\": 2"), "p is given twice"},
    {WITH("\"angles\": [0, 1, 2]"), "angles is given twice"},
    {WITH("\"delta_voxel\": \"1\""), "delta_voxel must be a number"},
    {WITH("\"delta_voxel\": 0"), "delta_voxel is 0"},
    {WITH("\"delta_voxel\": null"), "delta_voxel must be a number"},
    {WITH("\"det_channel_offset\": Infinity"), "det_channel_offset"},
    {WITH("\"det_channel_offset\": [1]"), "det_channel_offset must be a number"},
    {WITH("\"recon_shape\": [5, 5]"), "recon_shape must be a list of three"},
    {WITH("\"recon_shape\": 5"), "recon_shape must be"},
    {WITH("\"recon_shape\": [5, 5.5, 4]"), "recon_shape[1]"},
    {WITH("\"recon_shape\": [5, 0, 4]"), "recon_shape[1] is 0"},
    {WITH("\"recon_shape\": [5, 5, -4]"), "recon_shape[2] is -4"},
    {WITH("\"recon_shape\": [5, 5, 1099511627776]"), "recon_shape[2] is 1099511627776"},
    {WITH("\"recon_shape\": [5, 5, \"4\"]"), "recon_shape[2] must be"},
    {WITH("\"recon_shape\": [5, 5, 1e999]"), "recon_shape[2]"},
    {WITH("\"recon_shape\": [5, 5, 3]"), "recon_shape has 3 slices"},
    {WITH("\"use_ror_mask\": 1"), "use_ror_mask must be true or false"},
    {WITH("\"use_ror_mask\": [[1, 0], [0, 1]]"), "use_ror_mask must be true or false"},
    {WITH("\"positivity_flag\": \"yes\""), "positivity_flag must be"},
    {WITH("\"qggmrf_nbr_wts\": [1, 1]"), "qggmrf_nbr_wts must be"},
    {WITH("\"qggmrf_nbr_wts\": [1, 1, {}]"), "qggmrf_nbr_wts must be a number"},
    {WITH("\"sigma_y\": 1, \"auto_regularize_flag\": true"), "sigma_y is given"},
    {WITH("\"source_iso_dist\": 10"), "source_iso_dist: only cone"},
    {WITH("\"helical_z_shifts\": [0, 0, 1]"), "helical_z_shifts"},
    {WITH("\"recon_slice_offset\": 1"), "recon_slice_offset"},
    {WITH("\"voxel_slice_aspect\": 2"), "voxel_slice_aspect"},
    {"{" CONE ", \"helical_z_shifts\": [0, 0]}", "helical_z_shifts has 2 entries"},
    {"{\"geometry\": \"parallel\", \"sinogram_shape\": [3, 4, 5], \"angles\": [0, 1]}",
     "angles has 2 entries"},
    {"{\"geometry\": \"parallel\", \"sinogram_shape\": [2, 4, 5], \"angles\": [0, [1]]}",
     "angles[1]"},
    {"{\"geometry\": \"parallel\", \"sinogram_shape\": [2, 4, 5], \"angles\": [0, 1e999]}",
     "angles[1]"},
    {"{\"geometry\": \"parallel\", \"sinogram_shape\": [2, 4, 5], \"angles\": 0}",
     "angles must be"},
    {"{\"geometry\": \"cone\", \"sinogram_shape\": [1, 4, 5], \"angles\": [0], "
     "\"source_detector_dist\": \"far\", "
     "\"source_iso_dist\": 10}",
     "source_detector_dist must be"},
    {"{\"geometry\": \"cone\", \"sinogram_shape\": [1, 4, 5], \"angles\": [0], "
     "\"source_detector_dist\": 9, "
     "\"source_iso_dist\": 10}",
     "smaller than source_iso_dist"},
};

static void test_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ct_model m;
        enum err e = parse(wrong[i].text, &m);
        if (e != ERR_INPUT)
            fail_msg("%s: %s", wrong[i].text, err_name(e));
        if (!strstr(err_text(), wrong[i].words) || strncmp(err_text(), "g.json: ", 8))
            fail_msg("%s: \"%s\" does not say \"%s\"", wrong[i].text, err_text(), wrong[i].words);
        assert_null(m.scan.angles);
    }
}

static void test_torn(void **state)
{
    (void)state;
    static const char whole[] = "{" CONE ", \"helical_z_shifts\": [0, 0, 1]}";
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        struct ct_model m;
        assert_error(ct_model_parse("g.json", whole, n, &m), ERR_INPUT, "g.json");
    }
}

static void test_deep_and_large(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    char *text = malloc(2 * DEEP);
    struct ct_model m;
    memset(text, '[', 2 * DEEP);
    assert_error(ct_model_parse("g.json", text, 2 * DEEP, &m), ERR_INPUT, "valid JSON");
    free(text);
    size_t limit = (size_t)64 << 20;
    text = malloc(limit + 1);
    memset(text, ' ', limit + 1);
    assert_error(ct_model_parse("g.json", text, limit + 1, &m), ERR_INPUT, "64 MiB");
    memset(text, ',', limit); /* as many values as the bytes can hold: 6 GiB of nodes */
    setenv("TOMOPROF_MEMORY", "1GiB", 1);
    assert_error(ct_model_parse("g.json", text, limit, &m), ERR_MEMORY, "g.json");
    unsetenv("TOMOPROF_MEMORY");
    free(text);
}

static void assert_same(const struct ct_model *a, const struct ct_model *b)
{
    struct ct_model x = *a, y = *b;
    size_t bytes = (size_t)x.scan.views * sizeof(float);
    assert_memory_equal(x.scan.angles, y.scan.angles, bytes);
    assert_int_equal(!x.scan.z_shifts, !y.scan.z_shifts);
    if (x.scan.z_shifts)
        assert_memory_equal(x.scan.z_shifts, y.scan.z_shifts, bytes);
    assert_int_equal(!x.scan.moves, !y.scan.moves);
    if (x.scan.moves)
        assert_memory_equal(x.scan.moves, y.scan.moves,
                            (size_t)x.scan.views * sizeof *x.scan.moves);
    x.scan.angles = y.scan.angles = x.scan.z_shifts = y.scan.z_shifts = NULL;
    x.scan.moves = y.scan.moves = NULL;
    assert_memory_equal(&x.scan, &y.scan, sizeof x.scan);
    assert_memory_equal(&x.volume, &y.volume, sizeof x.volume);
    assert_memory_equal(&x.regularisation, &y.regularisation, sizeof x.regularisation);
}

/* MBIRJAX's own defaults, which a file may overrule. */
static void test_moved(void **state)
{
    (void)state;
    struct ct_model m;
    assert_ok(parse("{" MOVED ", " VECTORS "}", &m));
    assert_true(scan_is_translation(&m.scan) && !scan_is_multiaxis(&m.scan));
    assert_true(m.scan.moves[1].y == 0.5f && m.scan.z_shifts[2] == -1.5f && m.scan.angles[2] == 0);
    assert_int_equal(m.volume.ror, ROR_NONE);
    assert_near(m.regularisation.neighbour_weights[0], 0.1, 0);
    assert_near(m.regularisation.max_overrelaxation, 1.3, 0);
    assert_near(m.volume.delta, 0.5, 0);
    assert_near(m.volume.row_aspect, 32, 1e-4); /* 4 * 0.5 / (40 / 4 / 80) / 0.5 */
    ct_model_free(&m);
    assert_ok(parse("{" MOVED ", " VECTORS ", \"max_alpha\": 1.5, \"use_ror_mask\": true, "
                    "\"voxel_row_aspect\": 1, \"qggmrf_nbr_wts\": [1, 1, 1]}",
                    &m));
    assert_int_equal(m.volume.ror, ROR_ELLIPSE);
    assert_near(m.regularisation.neighbour_weights[0], 1, 0);
    assert_near(m.regularisation.max_overrelaxation, 1.5, 0);
    assert_near(m.volume.row_aspect, 1, 0);
    ct_model_free(&m);
    assert_ok(parse("{" TILTED ", \"angles\": [[0, 0.1], [1, -0.2], [2.5, 0]]}", &m));
    assert_true(scan_is_multiaxis(&m.scan) && !scan_is_translation(&m.scan));
    assert_true(m.scan.moves[1].elevation == -0.2f && m.scan.angles[2] == 2.5f);
    assert_int_equal(m.volume.ror, ROR_ELLIPSE);
    assert_int_equal(m.volume.slices, 4);
    ct_model_free(&m);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{" PARALLEL ", \"delta_det_channel\": 0.1, \"delta_det_row\": 0.1, "
        "\"det_channel_offset\": 0.123456789012}",
        "{" CONE ", \"helical_z_shifts\": [-0.1, 0, 0.7], \"use_curved_detector\": true, "
        "\"use_ror_mask\": false}",
        "{" CONE ", \"sigma_y\": 0.3, \"sharpness\": 0.5, \"positivity_flag\": true}",
        "{\"geometry\": \"cone\", \"sinogram_shape\": [1, 4, 5], \"angles\": [0.1], "
        "\"source_detector_dist\": \"inf\", \"source_iso_dist\": \"inf\"}",
        "{" MOVED ", " VECTORS "}",
        "{" TILTED ", \"angles\": [[0, 0.1], [1, -0.2], [2.5, 0]], \"recon_slice_offset\": 0.5}",
    };
    char path[64];
    snprintf(path, sizeof path, "/tmp/test_geometry_json.%ld.json", (long)getpid());
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ct_model a, b;
        assert_ok(parse(texts[i], &a));
        assert_ok(ct_model_write(path, &a));
        assert_ok(ct_model_read(path, &b));
        assert_same(&a, &b);
        ct_model_free(&a);
        ct_model_free(&b);
    }
    unlink(path);
    struct ct_model m;
    assert_error(ct_model_read(path, &m), ERR_INPUT, path);
    assert_error(ct_model_read("/tmp", &m), ERR_INPUT, "/tmp");
}

/* The geometry files that came with MBIRJAX's results. */
static void test_goldens(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t rows, cols, slices;
        double delta, slice_offset;
    } cases[] = {{"cone_offsets", 28, 28, 16, 0.6666666666666666, 0.7},
                 {"cone_plain_odd", 27, 27, 13, 0.5, 0},
                 {"par_offset_pitch", 32, 32, 8, 0.8, 0},
                 {"par_plain_odd", 31, 31, 9, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        struct ct_model m;
        snprintf(path, sizeof path, TP_DATA "/goldens/%s/geometry.json", cases[i].name);
        assert_ok(ct_model_read(path, &m));
        assert_int_equal(m.volume.rows, cases[i].rows);
        assert_int_equal(m.volume.cols, cases[i].cols);
        assert_int_equal(m.volume.slices, cases[i].slices);
        assert_near(m.volume.delta, cases[i].delta, 1e-15);
        assert_near(m.volume.slice_offset, cases[i].slice_offset, 1e-15);
        ct_model_free(&m);
    }
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_meanings), cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_torn),     cmocka_unit_test(test_deep_and_large),
        cmocka_unit_test(test_moved),    cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_goldens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
