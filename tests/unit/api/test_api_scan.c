/* links: tp_api */
/* tomoprof_recon_scan: its steps are the other functions, to the bit. */
#include <math.h>

#include "tests/unit/api/api_case.h"

struct prepared_case {
    struct api_case a;
    float *y, *x, *other, *expected;
    tomoprof_array ay, ax, ao, ae;
    tomoprof_scan_options o;
};

static void prepared_open(struct prepared_case *p, const char *geometry)
{
    api_open_size(&p->a, geometry, 32, 2);
    p->y = api_floats(p->a.sinogram);
    p->other = api_floats(p->a.sinogram);
    p->x = api_floats(p->a.volume);
    p->expected = api_floats(p->a.volume);
    p->ay = api_array(p->y, p->a.sinogram);
    p->ao = api_array(p->other, p->a.sinogram);
    p->ax = api_array(p->x, p->a.volume);
    p->ae = api_array(p->expected, p->a.volume);
    p->o = (tomoprof_scan_options)TOMOPROF_SCAN_OPTIONS;
    api_ok(&p->a, tomoprof_phantom(p->a.c, p->a.m, "shepp-logan", NULL, &p->ay));
}

static void prepared_close(struct prepared_case *p)
{
    free(p->y);
    free(p->x);
    free(p->other);
    free(p->expected);
    api_close(&p->a);
}

/* The sinogram stays as it was. */
static void prepared_equals(struct prepared_case *p)
{
    const size_t bytes = (size_t)api_count(p->a.sinogram) * sizeof(float);
    float *before = malloc(bytes);
    memcpy(before, p->y, bytes);
    api_ok(&p->a, tomoprof_recon_scan(p->a.c, p->a.m, &p->ay, &p->o, &p->ax));
    assert_memory_equal(p->y, before, bytes);
    assert_memory_equal(p->x, p->expected, (size_t)api_count(p->a.volume) * sizeof(float));
    free(before);
}

static void direct_methods_are_direct_recon(void **state)
{
    (void)state;
    struct prepared_case p;
    prepared_open(&p, "parallel");
    api_ok(&p.a, tomoprof_direct_recon(p.a.c, p.a.m, TOMOPROF_ADJOINT, &p.ay, &p.ae));
    prepared_equals(&p);
    p.o.method = "fourier";
    api_ok(&p.a, tomoprof_direct_recon(p.a.c, p.a.m, TOMOPROF_FOURIER, &p.ay, &p.ae));
    prepared_equals(&p);
    p.o.method = "fbp";
    p.o.rings = "sorting";
    api_ok(&p.a, tomoprof_step(p.a.c, "remove_stripes_sorting", NULL, &p.ay, NULL, &p.ao));
    assert_memory_not_equal(p.y, p.other, (size_t)api_count(p.a.sinogram) * sizeof(float));
    api_ok(&p.a, tomoprof_direct_recon(p.a.c, p.a.m, TOMOPROF_ADJOINT, &p.ao, &p.ae));
    prepared_equals(&p);
    p.o.rings = "fw";
    api_ok(&p.a, tomoprof_step(p.a.c, "remove_stripes_wavelet", NULL, &p.ay, NULL, &p.ao));
    api_ok(&p.a, tomoprof_direct_recon(p.a.c, p.a.m, TOMOPROF_ADJOINT, &p.ao, &p.ae));
    prepared_equals(&p);
    prepared_close(&p);

    prepared_open(&p, "cone");
    p.o.backproject = "voxel";
    api_ok(&p.a, tomoprof_direct_recon(p.a.c, p.a.m, TOMOPROF_VOXEL, &p.ay, &p.ae));
    prepared_equals(&p);
    prepared_close(&p);
}

static void parker_weighs_the_rays_of_a_short_scan(void **state)
{
    (void)state;
    struct prepared_case p;
    double angles[32];
    prepared_open(&p, "cone");
    api_fails(&p.a, TOMOPROF_BAD_ARGUMENT, "needs no Parker weights",
              tomoprof_weigh_rays(p.a.c, p.a.m, "parker", &p.ay, &p.ao));
    for (int v = 0; v < 32; v++)
        angles[v] = 1.25 * M_PI * v / 32;
    api_ok(&p.a, tomoprof_model_set(p.a.c, p.a.m, "angles", angles, 32));
    api_ok(&p.a, tomoprof_phantom(p.a.c, p.a.m, "shepp-logan", NULL, &p.ay));
    p.o.redundancy = "parker";
    api_ok(&p.a, tomoprof_weigh_rays(p.a.c, p.a.m, "parker", &p.ay, &p.ao));
    api_ok(&p.a, tomoprof_direct_recon(p.a.c, p.a.m, TOMOPROF_ADJOINT, &p.ao, &p.ae));
    prepared_equals(&p);
    api_ok(&p.a, tomoprof_weigh_rays(p.a.c, p.a.m, "parker", &p.ay, &p.ay)); /* in place */
    assert_memory_equal(p.y, p.other, (size_t)api_count(p.a.sinogram) * sizeof(float));
    api_fails(&p.a, TOMOPROF_BAD_ARGUMENT, "kind=ramp; expected parker or wang",
              tomoprof_weigh_rays(p.a.c, p.a.m, "ramp", &p.ay, &p.ao));
    prepared_close(&p);
}

static void weights_of_mbir_are_gen_weights(void **state)
{
    (void)state;
    struct prepared_case p;
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    prepared_open(&p, "parallel");
    o.iterations = p.o.iterations = 2;
    o.seed = p.o.seed = 3;
    o.weights = &p.ao;
    p.o.method = "mbir";
    p.o.weights = "transmission";
    api_ok(&p.a, tomoprof_gen_weights(p.a.c, "transmission", &p.ay, &p.ao));
    api_ok(&p.a, tomoprof_recon(p.a.c, p.a.m, &p.ay, &o, &p.ae, NULL));
    prepared_equals(&p);
    p.o.weights = "metal";
    api_ok(&p.a, tomoprof_direct_recon(p.a.c, p.a.m, TOMOPROF_ADJOINT, &p.ay, &p.ax));
    api_ok(&p.a, tomoprof_gen_weights_mar(p.a.c, p.a.m, &p.ay, &p.ax, 1, 3, &p.ao));
    api_ok(&p.a, tomoprof_recon(p.a.c, p.a.m, &p.ay, &o, &p.ae, NULL));
    prepared_equals(&p);
    prepared_close(&p);
}

static int end_now(void *user, double done, double total)
{
    (void)user;
    (void)done;
    (void)total;
    return 1;
}

static void wrong_options_name_their_words(void **state)
{
    (void)state;
    struct prepared_case p;
    prepared_open(&p, "parallel");
    const struct {
        const char **option, *value, *part;
    } wrong[] = {{&p.o.method, "sirt", "method=sirt; expected fbp, fdk, mbir or fourier"},
                 {&p.o.method, "fdk", "`method=fdk` is for cone beams"},
                 {&p.o.rings, "sort", "rings=sort; expected keep, sorting or fw"},
                 {&p.o.rings, NULL, "rings=NULL"},
                 {&p.o.backproject, "voxel", "`backproject` is for `method=fdk`"},
                 {&p.o.redundancy, "parker", "`redundancy` is for `method=fdk`"},
                 {&p.o.weights, "metal", "`weights` are of `method=mbir`"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *before = *wrong[i].option;
        *wrong[i].option = wrong[i].value;
        api_fails(&p.a, TOMOPROF_BAD_ARGUMENT, wrong[i].part,
                  tomoprof_recon_scan(p.a.c, p.a.m, &p.ay, &p.o, &p.ax));
        *wrong[i].option = before;
    }
    p.o.iterations = -1;
    api_fails(&p.a, TOMOPROF_BAD_ARGUMENT, "iterations=-1",
              tomoprof_recon_scan(p.a.c, p.a.m, &p.ay, &p.o, &p.ax));
    p.o.iterations = 100;
    tomoprof_set_progress(p.a.c, end_now, NULL);
    api_fails(&p.a, TOMOPROF_CANCELLED, "cancelled",
              tomoprof_recon_scan(p.a.c, p.a.m, &p.ay, &p.o, &p.ax));
    p.o.method = "mbir";
    p.o.stop_threshold_percent = 0;
    api_fails(&p.a, TOMOPROF_CANCELLED, "cancelled",
              tomoprof_recon_scan(p.a.c, p.a.m, &p.ay, &p.o, &p.ax));
    for (int64_t i = 0; i < api_count(p.a.volume); i++)
        assert_true(isfinite(p.x[i]) && fabsf(p.x[i]) < 1e6f); /* one iteration */
    prepared_close(&p);
}

static void noise_is_added(void **state)
{
    (void)state;
    struct prepared_case p;
    double squares = 0, most = 0;
    prepared_open(&p, "parallel");
    const int64_t n = api_count(p.a.sinogram);
    api_ok(&p.a, tomoprof_add_noise(p.a.c, &p.ay, 0.1, 7, &p.ao));
    for (int64_t i = 0; i < n; i++) {
        squares += pow((double)p.other[i] - (double)p.y[i], 2);
        most = fmax(most, fabs((double)p.y[i]));
    }
    assert_near(sqrt(squares / (double)n), 0.1 * most, 0.003 * most);
    api_ok(&p.a, tomoprof_add_noise(p.a.c, &p.ay, 0.1, 7, &p.ay)); /* in place */
    assert_memory_equal(p.y, p.other, (size_t)n * sizeof(float));
    api_fails(&p.a, TOMOPROF_BAD_ARGUMENT, "relative=-1",
              tomoprof_add_noise(p.a.c, &p.ay, -1, 7, &p.ay));
    api_fails(&p.a, TOMOPROF_BAD_ARGUMENT, "seed=-1",
              tomoprof_add_noise(p.a.c, &p.ay, 1, -1, &p.ay));
    prepared_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_methods_are_direct_recon),
        cmocka_unit_test(parker_weighs_the_rays_of_a_short_scan),
        cmocka_unit_test(weights_of_mbir_are_gen_weights),
        cmocka_unit_test(wrong_options_name_their_words),
        cmocka_unit_test(noise_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
