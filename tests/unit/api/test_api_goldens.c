/* links: tp_api */
/* tomoprof.h against MBIRJAX's arrays (tests/data/goldens), and against the functions behind it to
 * the bit. */
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include "host/backend/registry.h"
#include "host/recon/recon.h"
#include "host/store/format/geometry_json.h"
#include "tests/unit/api/api_case.h"

#define ITERATIONS 3 /* of every golden of mbir_recon */
#define SEED       7

struct golden {
    struct api_case a;
    struct backend *be; /* of the functions behind, opened apart */
    struct ct_model model;
    float *x, *y, *w;
    const char *beam;
};

static int compared;

static double distance(const float *a, const float *b, int64_t n)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    return sqrt(difference / size);
}

/* The result is near MBIRJAX's, and equal to what the function behind made. */
static void golden_compare(struct golden *g, const char *operation, const int64_t shape[3],
                           float *result, float *behind, double limit)
{
    char name[100];
    const int64_t n = api_count(shape);
    snprintf(name, sizeof name, "%s_%s.out", g->beam, operation);
    float *expected = api_golden(&g->a, name, shape);
    if (memcmp(result, behind, (size_t)n * sizeof *result) != 0)
        fail_msg("%s/%s differs from the function behind it", g->a.name, name);
    if (expected) {
        const double d = distance(result, expected, n);
        if (!(d < limit))
            fail_msg("%s/%s: relative error %.3g, at most %.3g", g->a.name, name, d, limit);
        compared++;
    }
    mem_free(expected);
    free(result);
    free(behind);
}

static struct buffer host_buffer(void *p, const int64_t shape[3])
{
    return (struct buffer){PLACE_HOST, 0, (size_t)api_count(shape) * sizeof(float), p};
}

static void golden_projections(struct golden *g)
{
    const int64_t *volume = g->a.volume, *sinogram = g->a.sinogram;
    const struct buffer x = host_buffer(g->x, volume), y = host_buffer(g->y, sinogram),
                        w = host_buffer(g->w, sinogram);
    const tomoprof_array ax = api_array(g->x, volume), ay = api_array(g->y, sinogram),
                         aw = api_array(g->w, sinogram);
    float *result = api_floats(sinogram), *behind = api_floats(sinogram);
    tomoprof_array out = api_array(result, sinogram);
    struct buffer to = host_buffer(behind, sinogram);
    api_ok(&g->a, tomoprof_forward_project(g->a.c, g->a.m, &ax, &out));
    assert_ok(forward_project(g->be, &g->model, &x, &to));
    golden_compare(g, "forward_project", sinogram, result, behind, 1e-5);

    out = api_array(result = api_floats(volume), volume);
    to = host_buffer(behind = api_floats(volume), volume);
    api_ok(&g->a, tomoprof_back_project(g->a.c, g->a.m, &ay, &out));
    assert_ok(back_project(g->be, &g->model, &y, &to));
    golden_compare(g, "back_project", volume, result, behind, 1e-5);

    out = api_array(result = api_floats(volume), volume);
    to = host_buffer(behind = api_floats(volume), volume);
    api_ok(&g->a, tomoprof_hessian_diagonal(g->a.c, g->a.m, &aw, &out));
    assert_ok(hessian_diagonal(g->be, &g->model, &w, &to));
    golden_compare(g, "hessian_diagonal", volume, result, behind, 1e-5);
}

static void golden_direct(struct golden *g, const char *filter, const char *recon)
{
    const int64_t *volume = g->a.volume, *sinogram = g->a.sinogram;
    const struct buffer y = host_buffer(g->y, sinogram);
    const tomoprof_array ay = api_array(g->y, sinogram);
    float *result = api_floats(sinogram), *behind = api_floats(sinogram);
    float *scratch = api_floats(sinogram);
    tomoprof_array out = api_array(result, sinogram);
    struct buffer to = host_buffer(behind, sinogram), between = host_buffer(scratch, sinogram);
    api_ok(&g->a, tomoprof_direct_filter(g->a.c, g->a.m, &ay, &out));
    assert_ok(direct_filter(g->be, &g->model, &y, &to));
    golden_compare(g, filter, sinogram, result, behind, 1e-5);

    out = api_array(result = api_floats(volume), volume);
    to = host_buffer(behind = api_floats(volume), volume);
    api_ok(&g->a, tomoprof_direct_recon(g->a.c, g->a.m, TOMOPROF_ADJOINT, &ay, &out));
    assert_ok(direct_recon(g->be, &g->model, &y, &between, &to));
    golden_compare(g, recon, volume, result, behind, 1e-5);
    free(scratch);
}

static void golden_recon(struct golden *g)
{
    const int64_t *volume = g->a.volume, *sinogram = g->a.sinogram;
    const struct buffer y = host_buffer(g->y, sinogram), w = host_buffer(g->w, sinogram);
    const tomoprof_array ay = api_array(g->y, sinogram), aw = api_array(g->w, sinogram);
    float *result = api_floats(volume), *behind = api_floats(volume);
    tomoprof_array out = api_array(result, volume);
    struct buffer to = host_buffer(behind, volume);
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    double rmse[2];
    tomoprof_recon_report r = {.size = sizeof r, .room = 2, .fm_rmse = rmse};
    const struct mbir_options options = {.max_iterations = ITERATIONS, .seed = SEED, .weights = &w};
    struct mbir_report report;
    o.iterations = ITERATIONS;
    o.stop_threshold_percent = 0;
    o.seed = SEED;
    o.weights = &aw;
    api_ok(&g->a, tomoprof_recon(g->a.c, g->a.m, &ay, &o, &out, &r));
    assert_ok(mbir_recon(g->be, &g->model, &y, &options, &to, &report));
    assert_int_equal(r.iterations, ITERATIONS);
    assert_true(r.sigma_y == report.sigma_y && r.sigma_x == report.sigma_x);
    assert_true(rmse[0] == report.fm_rmse[0] && rmse[1] == report.fm_rmse[1]);
    golden_compare(g, "mbir_recon", volume, result, behind, 1e-4);
    mbir_report_free(&report);
}

static void golden_check(const char *name)
{
    struct golden g = {0};
    char path[500];
    const struct backend_options options = {.threads = 2};
    api_open(&g.a, name);
    snprintf(path, sizeof path, "%s" GOLDENS "/%s/geometry.json", API_DATA, name);
    assert_ok(ct_model_read(path, &g.model));
    assert_ok(backend_open("cpu", &options, &g.be));
    const struct scan *s = &g.model.scan;
    g.beam = s->beam == BEAM_PARALLEL ? "parallel"
             : scan_is_translation(s) ? "translation"
             : scan_is_multiaxis(s)   ? "multiaxis"
                                      : "cone";
    g.x = api_golden(&g.a, "volume", g.a.volume);
    g.y = api_golden(&g.a, "sinogram", g.a.sinogram);
    g.w = api_golden(&g.a, "weights", g.a.sinogram);
    golden_projections(&g);
    golden_direct(&g,
                  s->moves         ? "direct_filter"
                  : *g.beam == 'p' ? "fbp_filter"
                                   : "fdk_filter",
                  s->moves         ? "direct_recon"
                  : *g.beam == 'p' ? "fbp_recon"
                                   : "fdk_recon");
    golden_recon(&g);
    mem_free(g.x);
    mem_free(g.y);
    mem_free(g.w);
    backend_close(g.be);
    ct_model_free(&g.model);
    api_close(&g.a);
}

static int has_geometry(const struct dirent *entry)
{
    char path[500];
    struct stat found;
    snprintf(path, sizeof path, "%s" GOLDENS "/%s/geometry.json", API_DATA, entry->d_name);
    return entry->d_name[0] != '.' && stat(path, &found) == 0;
}

static void calls_equal_mbirjax_and_the_functions_behind(void **state)
{
    (void)state;
    struct dirent **entries;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s" GOLDENS, API_DATA);
    const int n = scandir(folder, &entries, has_geometry, alphasort);
    assert_true(n >= 20);
    for (int i = 0; i < n; i++) {
        golden_check(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_true(compared >= 5 * n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_equal_mbirjax_and_the_functions_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
