/* links: tp_api tp_recon */
/* Phantoms, medians, partitions, denoising and the rotation axis of tomoprof.h. */
#include <math.h>

#include "host/recon/partition.h"
#include "tests/unit/api/api_case.h"

static void median_and_denoiser_equal_mbirjax(void **state)
{
    (void)state;
    struct api_case a;
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    api_open(&a, "par_plain_odd");
    o.iterations = 5;
    o.stop_threshold_percent = 0;
    o.seed = 7;
    static const struct {
        const char *folder, *name;
        double limit;
    } rows[] = {{"median_small", "median_filter3d", 0}, {"denoise_small", "qggmrf_denoise", 1e-4}};
    for (int i = 0; i < 2; i++) {
        int64_t shape[3] = {-1, -1, -1};
        char path[500];
        static const char *const names[] = {"rows", "columns", "slices"};
        float *in, *expected;
        snprintf(path, sizeof path, "%s" GOLDENS "/%s/%s.in.npy", API_DATA, rows[i].folder,
                 rows[i].name);
        assert_int_equal(npy_read(path, 3, shape, names, 1, &in), ERR_OK);
        snprintf(path, sizeof path, "%s" GOLDENS "/%s/%s.out.npy", API_DATA, rows[i].folder,
                 rows[i].name);
        assert_int_equal(npy_read(path, 3, shape, names, 1, &expected), ERR_OK);
        float *result = api_floats(shape);
        const tomoprof_array from = api_array(in, shape);
        tomoprof_array to = api_array(result, shape);
        double sigma = 0;
        if (i == 0)
            api_ok(&a, tomoprof_median_filter3d(a.c, &from, &to));
        else
            api_ok(&a, tomoprof_denoise(a.c, NULL, &from, 0, &o, &to, &sigma));
        assert_true(i == 0 || sigma > 0);
        double difference = 0, size = 0;
        for (int64_t k = 0; k < api_count(shape); k++) {
            difference += pow((double)result[k] - (double)expected[k], 2);
            size += pow((double)expected[k], 2);
        }
        if (!(sqrt(difference / size) <= rows[i].limit))
            fail_msg("%s: relative error %g", rows[i].folder, sqrt(difference / size));
        mem_free(in);
        mem_free(expected);
        free(result);
    }
    api_close(&a);
}

static int end_at_once(void *user, double done, double total)
{
    assert_true(done >= 1 && total == 5);
    return ++*(int *)user; /* not 0 */
}

static void denoiser_ends_where_it_is_cancelled(void **state)
{
    (void)state;
    struct api_case a;
    int calls = 0;
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    api_open(&a, "par_plain_odd");
    float *x = api_golden(&a, "volume", a.volume), *out = api_floats(a.volume);
    const tomoprof_array from = api_array(x, a.volume);
    tomoprof_array to = api_array(out, a.volume);
    o.iterations = 5;
    o.stop_threshold_percent = 0;
    tomoprof_set_progress(a.c, end_at_once, &calls);
    api_fails(&a, TOMOPROF_CANCELLED, "cancelled",
              tomoprof_denoise(a.c, NULL, &from, 0.1, &o, &to, NULL));
    assert_int_equal(calls, 1);
    mem_free(x);
    free(out);
    api_close(&a);
}

/* The forward projection of the phantom is near its line integrals. */
static void phantom_has_its_line_integrals(void **state)
{
    (void)state;
    struct api_case a;
    api_open(&a, "par_plain_odd");
    float *x = api_floats(a.volume), *y = api_floats(a.sinogram), *z = api_floats(a.sinogram);
    tomoprof_array ax = api_array(x, a.volume), ay = api_array(y, a.sinogram),
                   az = api_array(z, a.sinogram);
    api_ok(&a, tomoprof_phantom(a.c, a.m, "shepp-logan", &ax, &ay));
    api_ok(&a, tomoprof_forward_project(a.c, a.m, &ax, &az));
    double difference = 0, size = 0;
    for (int64_t i = 0; i < api_count(a.sinogram); i++) {
        difference += pow((double)z[i] - (double)y[i], 2);
        size += pow((double)y[i], 2);
    }
    assert_true(size > 0 && sqrt(difference / size) < 0.25);
    api_ok(&a, tomoprof_phantom(a.c, a.m, "two-ellipsoids", NULL, &ay));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "name=cube", tomoprof_phantom(a.c, a.m, "cube", &ax, &ay));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "x and y are NULL",
              tomoprof_phantom(a.c, a.m, "shepp-logan", NULL, NULL));
    free(x);
    free(y);
    free(z);
    api_close(&a);
}

static void partition_is_that_of_the_seed(void **state)
{
    (void)state;
    struct api_case a;
    int64_t subsets = 4, length;
    int32_t *indices;
    struct rng r;
    struct partition p;
    api_open(&a, "par_plain_odd");
    api_ok(&a, tomoprof_partition(a.c, a.m, "random", 7, &subsets, &length, NULL, 0));
    assert_int_equal(subsets, 4);
    indices = malloc((size_t)(subsets * length) * sizeof *indices);
    api_ok(&a, tomoprof_partition(a.c, a.m, "random", 7, &subsets, &length, indices,
                                  (size_t)(subsets * length)));
    const struct volume v = {
        .rows = a.volume[0], .cols = a.volume[1], .slices = 1, .ror = ROR_ELLIPSE};
    rng_seed(&r, 7);
    assert_ok(partition_create_inside(&v, 4, &r, &p));
    assert_int_equal(p.length, length);
    assert_memory_equal(indices, p.indices, (size_t)(subsets * length) * sizeof *indices);
    partition_free(&p);
    free(indices);
    api_ok(&a, tomoprof_partition(a.c, a.m, "blue_noise", 7, &subsets, &length, NULL, 0));
    api_ok(&a, tomoprof_partition(a.c, a.m, "grid", 7, &subsets, &length, NULL, 0));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "method=square",
              tomoprof_partition(a.c, a.m, "square", 7, &subsets, &length, NULL, 0));
    subsets = 0;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "subsets=0",
              tomoprof_partition(a.c, a.m, "grid", 7, &subsets, &length, NULL, 0));
    api_close(&a);
}

/* Weights of metal, sigmas of the golden, the axis of a phantom: each by the function of its name. */
static void sigmas_weights_and_axis_are_found(void **state)
{
    (void)state;
    struct api_case a;
    double sigma_y, sigma_x, sigma_prox, channel, score;
    char json[4000] = "{\"geometry\": \"parallel\", \"sinogram_shape\": [60, 3, 65], "
                      "\"det_channel_offset\": 2.5, \"angles\": [";
    api_open(&a, "par_plain_odd");
    float *y = api_golden(&a, "sinogram", a.sinogram), *w = api_floats(a.sinogram);
    tomoprof_array ay = api_array(y, a.sinogram), aw = api_array(w, a.sinogram);
    tomoprof_recon_report r = {.size = sizeof r};
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    float *x = api_floats(a.volume);
    tomoprof_array ax = api_array(x, a.volume);
    o.iterations = 1;
    api_ok(&a, tomoprof_auto_regularise(a.c, a.m, &ay, NULL, &sigma_y, &sigma_x, &sigma_prox));
    api_ok(&a, tomoprof_recon(a.c, a.m, &ay, &o, &ax, &r));
    assert_true(r.sigma_y == sigma_y && r.sigma_x == sigma_x && r.sigma_prox == sigma_prox);
    api_ok(&a, tomoprof_gen_weights_mar(a.c, a.m, &ay, NULL, 1, 3, &aw));
    assert_true(w[0] > 0);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "beta=0",
              tomoprof_gen_weights_mar(a.c, a.m, &ay, NULL, 0, 3, &aw));
    mem_free(y);
    free(w);
    free(x);

    for (int v = 0; v < 60; v++)
        snprintf(json + strlen(json), sizeof json - strlen(json), "%s%.9g", v ? ", " : "",
                 v * M_PI / 59);
    strcat(json, "]}");
    tomoprof_model_free(a.m);
    api_ok(&a, tomoprof_model_parse(a.c, json, strlen(json), &a.m));
    tomoprof_model_sinogram_shape(a.m, a.sinogram);
    y = api_floats(a.sinogram);
    ay = api_array(y, a.sinogram);
    api_ok(&a, tomoprof_phantom(a.c, a.m, "two-ellipsoids", NULL, &ay));
    api_ok(&a, tomoprof_find_center(a.c, a.m, "registration", &ay, &channel, &score));
    assert_near(channel, 32 + 2.5, 0.6);
    assert_true(score > 0.5 && score <= 1);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "method=guess",
              tomoprof_find_center(a.c, a.m, "guess", &ay, &channel, NULL));
    free(y);
    api_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_and_denoiser_equal_mbirjax),
        cmocka_unit_test(denoiser_ends_where_it_is_cancelled),
        cmocka_unit_test(phantom_has_its_line_integrals),
        cmocka_unit_test(partition_is_that_of_the_seed),
        cmocka_unit_test(sigmas_weights_and_axis_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
