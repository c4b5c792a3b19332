/* links: tp_api */
/* Contexts, models, arrays and failures of tomoprof.h. */
#include <math.h>

#include "tests/unit/api/api_case.h"

static void context_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    struct api_case none = {0};
    struct {
        tomoprof_context_options o;
        int newer;
    } longer = {TOMOPROF_CONTEXT_OPTIONS, 0};
    tomoprof_context_options o = TOMOPROF_CONTEXT_OPTIONS;
    tomoprof_context *c;
    o.backend = "abacus";
    api_fails(&none, TOMOPROF_BAD_ARGUMENT, "backend=abacus", tomoprof_context_create(&o, &c));
    assert_null(c);
    o.backend = "cpu";
    o.threads = -1;
    api_fails(&none, TOMOPROF_BAD_ARGUMENT, "threads=-1", tomoprof_context_create(&o, &c));
    api_fails(&none, TOMOPROF_BAD_ARGUMENT, "out is NULL", tomoprof_context_create(NULL, NULL));
    longer.o.size = sizeof longer;
    longer.o.backend = "cpu";
    api_ok(&none, tomoprof_context_create(&longer.o, &c));
    tomoprof_context_free(c);
    longer.newer = 1;
    api_fails(&none, TOMOPROF_UNSUPPORTED, "does not know", tomoprof_context_create(&longer.o, &c));
    api_fails(&none, TOMOPROF_BAD_ARGUMENT, "c is NULL",
              tomoprof_model_read(NULL, "x", &(tomoprof_model *){0}));
    assert_string_equal(tomoprof_version(), TOMOPROF_VERSION);
    assert_int_equal(tomoprof_abi(), TOMOPROF_ABI);
}

static double parameter(struct api_case *a, const char *name, size_t *count)
{
    double value = NAN;
    api_ok(a, tomoprof_model_get(a->c, a->m, name, &value, 1, count));
    return value;
}

static void model_parameters_are_set_and_got_by_name(void **state)
{
    (void)state;
    struct api_case a;
    size_t n;
    api_open(&a, "par_plain_odd");
    const double sharpness = 2.5, twice = 2, yes = 1, no = 0, half = 0.5, nan = NAN;
    api_ok(&a, tomoprof_model_set(a.c, a.m, "sharpness", &sharpness, 1));
    assert_true(parameter(&a, "sharpness", &n) == 2.5 && n == 1);
    api_ok(&a, tomoprof_model_set(a.c, a.m, "positivity_flag", &yes, 1));
    assert_true(parameter(&a, "positivity_flag", &n) == 1);
    parameter(&a, "sigma_x", &n);
    assert_int_equal(n, 0);
    api_ok(&a, tomoprof_model_set(a.c, a.m, "sigma_x", &half, 1));
    assert_true(parameter(&a, "sigma_x", &n) == 0.5 && n == 1);
    assert_true(parameter(&a, "auto_regularize_flag", &n) == 0);
    api_ok(&a, tomoprof_model_set(a.c, a.m, "auto_regularize_flag", &yes, 1));
    parameter(&a, "sigma_x", &n);
    assert_int_equal(n, 0);
    parameter(&a, "angles", &n);
    assert_int_equal(n, a.sinogram[0]);

    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "did you mean \"sharpness\"",
              tomoprof_model_set(a.c, a.m, "sharpnes", &half, 1));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "sharpness: value 0 is NaN",
              tomoprof_model_set(a.c, a.m, "sharpness", &nan, 1));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "positivity_flag=0.5: expected 0 or 1",
              tomoprof_model_set(a.c, a.m, "positivity_flag", &half, 1));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "angles has 1 entries",
              tomoprof_model_set(a.c, a.m, "angles", &half, 1));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "only cone beams",
              tomoprof_model_set(a.c, a.m, "source_iso_dist", &twice, 1));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "delta_voxel",
              tomoprof_model_set(a.c, a.m, "delta_voxel", &no, 1));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "geometry cannot be set",
              tomoprof_model_set(a.c, a.m, "geometry", &no, 1));
    assert_true(parameter(&a, "sharpness", &n) == 2.5);
    api_close(&a);
}

static void automatic_values_follow_what_is_set(void **state)
{
    (void)state;
    struct api_case a;
    size_t n;
    const double twice = 2;
    api_open(&a, "cone_plain_odd");
    const double delta = parameter(&a, "delta_voxel", &n);
    api_ok(&a, tomoprof_model_set(a.c, a.m, "delta_det_channel", &twice, 1));
    assert_true(parameter(&a, "delta_voxel", &n) == 2 * delta);
    api_ok(&a, tomoprof_model_set(a.c, a.m, "delta_det_channel", NULL, 0));
    assert_true(parameter(&a, "delta_voxel", &n) == delta);
    const double far = INFINITY;
    api_ok(&a, tomoprof_model_set(a.c, a.m, "source_detector_dist", &far, 1));
    assert_true(isinf(parameter(&a, "source_detector_dist", &n)));
    api_close(&a);
}

static void model_json_makes_the_same_model(void **state)
{
    (void)state;
    struct api_case a;
    tomoprof_model *again;
    char small[10], *text, *other;
    size_t bytes, bytes2;
    api_open(&a, "cone_helical");
    api_ok(&a, tomoprof_model_json(a.c, a.m, NULL, 0, &bytes));
    api_ok(&a, tomoprof_model_json(a.c, a.m, small, sizeof small, &bytes));
    assert_int_equal(strlen(small), sizeof small - 1);
    text = malloc(bytes + 1);
    other = malloc(bytes + 1);
    api_ok(&a, tomoprof_model_json(a.c, a.m, text, bytes + 1, &bytes));
    assert_int_equal(strlen(text), bytes);
    api_ok(&a, tomoprof_model_parse(a.c, text, bytes, &again));
    api_ok(&a, tomoprof_model_json(a.c, again, other, bytes + 1, &bytes2));
    assert_string_equal(text, other);
    tomoprof_model_free(again);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "not valid JSON",
              tomoprof_model_parse(a.c, text, bytes / 2, &again));
    assert_null(again);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "nowhere.json",
              tomoprof_model_read(a.c, "/nowhere.json", &again));
    free(text);
    free(other);
    api_close(&a);
}

static void pixels_are_those_of_the_region(void **state)
{
    (void)state;
    struct api_case a;
    size_t n, again;
    int32_t first[3], *all;
    const double no = 0;
    api_open(&a, "par_plain_odd");
    api_ok(&a, tomoprof_model_pixels(a.c, a.m, first, 3, &n));
    assert_true(n > 3 && n < (size_t)(a.volume[0] * a.volume[1]));
    all = malloc(n * sizeof *all);
    api_ok(&a, tomoprof_model_pixels(a.c, a.m, all, n, &again));
    assert_int_equal(n, again);
    assert_memory_equal(first, all, sizeof first);
    free(all);
    api_ok(&a, tomoprof_model_set(a.c, a.m, "use_ror_mask", &no, 1));
    api_ok(&a, tomoprof_model_pixels(a.c, a.m, first, 3, &n));
    assert_int_equal(n, a.volume[0] * a.volume[1]);
    assert_true(first[0] == 0 && first[2] == 2);
    api_close(&a);
}

/* The views that a model of some views sees are those of the whole. */
static void some_views_are_rows_of_the_whole(void **state)
{
    static const char *const names[] = {"par_plain_odd", "cone_helical", "translation_plain",
                                        "multiaxis_plain"};
    const int64_t views[] = {4, 1, 5, 1};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct api_case a;
        tomoprof_model *some;
        int64_t shape[3];
        api_open(&a, names[i]);
        const int64_t plane = a.sinogram[1] * a.sinogram[2];
        float *x = api_golden(&a, "volume", a.volume), *y = api_floats(a.sinogram);
        const tomoprof_array ax = api_array(x, a.volume);
        tomoprof_array ay = api_array(y, a.sinogram);
        api_ok(&a, tomoprof_forward_project(a.c, a.m, &ax, &ay));
        api_ok(&a, tomoprof_model_views(a.c, a.m, views, 4, &some));
        tomoprof_model_sinogram_shape(some, shape);
        assert_int_equal(shape[0], 4);
        float *part = api_floats(shape);
        tomoprof_array ap = api_array(part, shape);
        api_ok(&a, tomoprof_forward_project(a.c, some, &ax, &ap));
        for (int v = 0; v < 4; v++)
            for (int64_t k = 0; k < plane; k++)
                assert_near(part[v * plane + k], y[views[v] * plane + k],
                            1e-5 * fabs((double)y[views[v] * plane + k]) + 1e-5);
        tomoprof_model_free(some);
        api_fails(&a, TOMOPROF_BAD_ARGUMENT, "views[0] is 99",
                  tomoprof_model_views(a.c, a.m, &(int64_t){99}, 1, &some));
        mem_free(x);
        free(y);
        free(part);
        api_close(&a);
    }
}

/* Arrays of another type or with strides give what a copy in float32 gives. */
static void strides_and_types_are_converted(void **state)
{
    (void)state;
    struct api_case a;
    api_open(&a, "cone_plain_odd");
    const int64_t n = api_count(a.volume), samples = api_count(a.sinogram);
    float *plain = api_floats(a.volume), *y = api_floats(a.sinogram);
    double *wide = malloc((size_t)n * 2 * sizeof *wide),
           *out = malloc((size_t)samples * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        plain[i] = (float)(i % 251) - 100;
    tomoprof_array x = api_array(plain, a.volume), to = api_array(y, a.sinogram);
    api_ok(&a, tomoprof_forward_project(a.c, a.m, &x, &to));

    /* float64, each second element, the rows from the last to the first. */
    const int64_t row = a.volume[1] * a.volume[2];
    for (int64_t i = 0; i < n; i++)
        wide[2 * ((a.volume[0] - 1 - i / row) * row + i % row)] = (double)plain[i];
    tomoprof_array strided = api_array(wide + 2 * (a.volume[0] - 1) * row, a.volume);
    strided.type = TOMOPROF_FLOAT64;
    strided.strides[0] = -16 * row;
    strided.strides[1] = 16 * a.volume[2];
    strided.strides[2] = 16;
    tomoprof_array other = api_array(out, a.sinogram);
    other.type = TOMOPROF_FLOAT64;
    api_ok(&a, tomoprof_forward_project(a.c, a.m, &strided, &other));
    for (int64_t i = 0; i < samples; i++)
        assert_true((float)out[i] == y[i]);

    /* Whole numbers below 256 are exact in the smaller types. Weights of 0 are results to round. */
    static const tomoprof_type types[] = {TOMOPROF_FLOAT16, TOMOPROF_BFLOAT16, TOMOPROF_INT16,
                                          TOMOPROF_INT32,   TOMOPROF_UINT8,    TOMOPROF_UINT16};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const int64_t line[3] = {1, 1, 4};
        float back[4], zeros[4] = {0};
        uint32_t raw[4];
        tomoprof_array from = api_array(zeros, line), typed = api_array(raw, line),
                       again = api_array(back, line);
        typed.type = types[t];
        api_ok(&a, tomoprof_gen_weights(a.c, "emission", &from, &typed)); /* 1/0.1 = 10 */
        api_ok(&a, tomoprof_gen_weights(a.c, "transmission", &typed, &again));
        for (int i = 0; i < 4; i++)
            assert_near(back[i], exp(-10), 1e-9);
    }
    free(plain);
    free(y);
    free(wide);
    free(out);
    api_close(&a);
}

static void wrong_arrays_are_named_with_both_shapes(void **state)
{
    (void)state;
    struct api_case a;
    api_open(&a, "par_plain_odd");
    float *x = api_golden(&a, "volume", a.volume), *y = api_floats(a.sinogram);
    float *before = api_floats(a.sinogram);
    const tomoprof_array good = api_array(x, a.volume);
    tomoprof_array to = api_array(y, a.sinogram), bad = good;
    char both[100];
    bad.shape[2]++;
    snprintf(both, sizeof both, "x has the shape (%d, %d, %d); expected (%d, %d, %d)",
             (int)bad.shape[0], (int)bad.shape[1], (int)bad.shape[2], (int)a.volume[0],
             (int)a.volume[1], (int)a.volume[2]);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, both, tomoprof_forward_project(a.c, a.m, &bad, &to));
    bad = good;
    bad.dimensions = 2;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "x has the shape",
              tomoprof_forward_project(a.c, a.m, &bad, &to));
    bad.dimensions = 9;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "9 dimensions",
              tomoprof_forward_project(a.c, a.m, &bad, &to));
    bad = good;
    bad.data = NULL;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "x: data is NULL",
              tomoprof_forward_project(a.c, a.m, &bad, &to));
    bad = good;
    bad.size = 8;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "x: size is 8",
              tomoprof_forward_project(a.c, a.m, &bad, &to));
    bad = good;
    bad.type = (tomoprof_type)99;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "x has the type 99",
              tomoprof_forward_project(a.c, a.m, &bad, &to));
    bad = good;
    bad.place = TOMOPROF_CUDA;
    api_fails(&a, TOMOPROF_UNSUPPORTED, "x lies on a GPU",
              tomoprof_forward_project(a.c, a.m, &bad, &to));
    bad = to;
    bad.strides[0] = 4;
    bad.strides[2] = 4;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "y has the stride 0 in dimension 1",
              tomoprof_forward_project(a.c, a.m, &good, &bad));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "y is NULL",
              tomoprof_forward_project(a.c, a.m, &good, NULL));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "m is NULL",
              tomoprof_forward_project(a.c, NULL, &good, &to));
    /* The last number of y is the first of x. */
    bad = api_array(y + api_count(a.sinogram) - 1, a.volume);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "x and y overlap",
              tomoprof_forward_project(a.c, a.m, &bad, &to));
    assert_memory_equal(y, before, (size_t)api_count(a.sinogram) * sizeof *y);
    free(before);
    mem_free(x);
    free(y);
    api_close(&a);
}

static void filter_works_in_place(void **state)
{
    (void)state;
    struct api_case a;
    api_open(&a, "cone_plain_odd");
    float *y = api_golden(&a, "sinogram", a.sinogram), *out = api_floats(a.sinogram);
    const size_t bytes = (size_t)api_count(a.sinogram) * sizeof *y;
    tomoprof_array ay = api_array(y, a.sinogram), ao = api_array(out, a.sinogram), shifted;
    api_ok(&a, tomoprof_direct_filter(a.c, a.m, &ay, &ao));
    shifted = api_array(y + 1, a.sinogram);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "overlap",
              tomoprof_direct_filter(a.c, a.m, &ay, &shifted));
    api_ok(&a, tomoprof_direct_filter(a.c, a.m, &ay, &ay));
    assert_memory_equal(y, out, bytes);
    mem_free(y);
    free(out);
    api_close(&a);
}

/* Sparse projections of all pixels are those of the whole; a repeat counts twice. */
static void sparse_projections_agree_with_dense_ones(void **state)
{
    (void)state;
    struct api_case a;
    size_t n;
    api_open(&a, "par_plain_odd");
    api_ok(&a, tomoprof_model_pixels(a.c, a.m, NULL, 0, &n));
    int32_t *pixels = malloc(n * sizeof *pixels);
    api_ok(&a, tomoprof_model_pixels(a.c, a.m, pixels, n, &n));
    const int64_t slices = a.volume[2], samples = api_count(a.sinogram);
    float *x = api_golden(&a, "volume", a.volume), *y = api_floats(a.sinogram),
          *z = api_floats(a.sinogram), *v = api_floats(a.volume),
          *voxels = malloc(n * (size_t)slices * sizeof *voxels);
    for (size_t i = 0; i < n; i++)
        memcpy(voxels + (int64_t)i * slices, x + pixels[i] * slices, (size_t)slices * sizeof *x);
    tomoprof_array ax = api_array(x, a.volume), ay = api_array(y, a.sinogram),
                   az = api_array(z, a.sinogram), av = api_array(v, a.volume);
    tomoprof_array packed = TOMOPROF_ARRAY(voxels, TOMOPROF_FLOAT32, (int64_t)n, slices, 0);
    packed.dimensions = 2;
    api_ok(&a, tomoprof_forward_project(a.c, a.m, &ax, &ay));
    api_ok(&a, tomoprof_sparse_forward_project(a.c, a.m, &packed, pixels, n, &az));
    for (int64_t i = 0; i < samples; i++)
        assert_near(z[i], y[i], 1e-4 * fabs((double)y[i]) + 1e-4);
    api_ok(&a, tomoprof_back_project(a.c, a.m, &ay, &av));
    api_ok(&a, tomoprof_sparse_back_project(a.c, a.m, &ay, pixels, n, 1, &packed));
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < slices; k++)
            assert_near(voxels[(int64_t)i * slices + k], v[pixels[i] * slices + k],
                        1e-4 * fabs((double)v[pixels[i] * slices + k]) + 1e-4);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "power=3",
              tomoprof_sparse_back_project(a.c, a.m, &ay, pixels, n, 3, &packed));
    pixels[1] = -4;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "pixels[1] is -4",
              tomoprof_sparse_back_project(a.c, a.m, &ay, pixels, n, 1, &packed));
    free(pixels);
    mem_free(x);
    free(y);
    free(z);
    free(v);
    free(voxels);
    api_close(&a);
}

static int count_and_cancel(void *user, double done, double total)
{
    int *calls = user;
    assert_true(done <= total);
    return ++*calls >= 2; /* the second one ends it */
}

static void collect_log(void *user, int level, const char *sentence)
{
    assert_true(level >= 0 && level <= 3);
    snprintf(user, 200, "%s", sentence);
}

static void progress_cancels_and_the_log_goes_to_its_callback(void **state)
{
    (void)state;
    struct api_case a;
    int calls = 0;
    char line[200] = "";
    api_open(&a, "par_plain_odd");
    float *y = api_golden(&a, "sinogram", a.sinogram), *x = api_floats(a.volume);
    tomoprof_array ay = api_array(y, a.sinogram), ax = api_array(x, a.volume);
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    tomoprof_recon_report r = {.size = sizeof r};
    o.stop_threshold_percent = 0;
    tomoprof_set_progress(a.c, count_and_cancel, &calls);
    api_fails(&a, TOMOPROF_CANCELLED, "cancelled", tomoprof_recon(a.c, a.m, &ay, &o, &ax, &r));
    assert_int_equal(calls, 2);
    assert_int_equal(r.iterations, 2);
    for (int64_t i = 0; i < api_count(a.volume); i++)
        assert_true(isfinite(x[i]));
    tomoprof_set_progress(a.c, NULL, NULL);
    o.iterations = 1;
    api_ok(&a, tomoprof_recon(a.c, a.m, &ay, &o, &ax, &r)); /* the wish to end is forgotten */
    assert_string_equal(tomoprof_error(a.c), "");
    for (int64_t i = 0; i < api_count(a.sinogram); i++)
        y[i] = -fabsf(y[i]) - 1;
    tomoprof_set_log(a.c, collect_log, line);
    api_ok(&a, tomoprof_recon(a.c, a.m, &ay, &o, &ax, &r));
    assert_non_null(strstr(line, "no positive values"));

    o.iterations = -1;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "iterations=-1",
              tomoprof_recon(a.c, a.m, &ay, &o, &ax, &r));
    o.iterations = 1;
    o.stop_threshold_percent = NAN;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "stop_threshold_percent=nan",
              tomoprof_recon(a.c, a.m, &ay, &o, &ax, &r));
    mem_free(y);
    free(x);
    api_close(&a);
}

static int call_again(void *user, double done, double total)
{
    struct api_case *a = user, none = {0};
    size_t n;
    (void)done;
    (void)total;
    api_fails(&none, TOMOPROF_BAD_ARGUMENT, "c is in use",
              tomoprof_model_pixels(a->c, a->m, NULL, 0, &n));
    return 0;
}

static void a_context_runs_one_call_at_a_time(void **state)
{
    (void)state;
    struct api_case a;
    api_open(&a, "par_plain_odd");
    float *y = api_golden(&a, "sinogram", a.sinogram), *x = api_floats(a.volume);
    tomoprof_array ay = api_array(y, a.sinogram), ax = api_array(x, a.volume);
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    o.iterations = 2;
    tomoprof_set_progress(a.c, call_again, &a);
    api_ok(&a, tomoprof_recon(a.c, a.m, &ay, &o, &ax, NULL));
    mem_free(y);
    free(x);
    api_close(&a);
}

static void weights_have_four_kinds(void **state)
{
    (void)state;
    struct api_case a;
    const int64_t n[3] = {1, 2, 2};
    float y[4] = {0, 1, -1, 2}, w[4];
    tomoprof_array ay = api_array(y, n), aw = api_array(w, n);
    api_open(&a, "par_plain_odd");
    api_ok(&a, tomoprof_gen_weights(a.c, "unweighted", &ay, &aw));
    assert_true(w[3] == 1);
    api_ok(&a, tomoprof_gen_weights(a.c, "transmission", &ay, &aw));
    assert_near(w[3], exp(-2), 1e-6);
    api_ok(&a, tomoprof_gen_weights(a.c, "transmission_root", &ay, &aw));
    assert_near(w[3], exp(-1), 1e-6);
    api_ok(&a, tomoprof_gen_weights(a.c, "emission", &ay, &aw));
    assert_near(w[2], 1 / 1.1, 1e-6);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "kind=poisson",
              tomoprof_gen_weights(a.c, "poisson", &ay, &aw));
    api_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_refuses_what_it_does_not_know),
        cmocka_unit_test(model_parameters_are_set_and_got_by_name),
        cmocka_unit_test(automatic_values_follow_what_is_set),
        cmocka_unit_test(model_json_makes_the_same_model),
        cmocka_unit_test(pixels_are_those_of_the_region),
        cmocka_unit_test(some_views_are_rows_of_the_whole),
        cmocka_unit_test(strides_and_types_are_converted),
        cmocka_unit_test(wrong_arrays_are_named_with_both_shapes),
        cmocka_unit_test(filter_works_in_place),
        cmocka_unit_test(sparse_projections_agree_with_dense_ones),
        cmocka_unit_test(progress_cancels_and_the_log_goes_to_its_callback),
        cmocka_unit_test(a_context_runs_one_call_at_a_time),
        cmocka_unit_test(weights_have_four_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
