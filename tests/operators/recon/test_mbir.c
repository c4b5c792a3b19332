/* links: tp_operators */
/* Whole MBIR runs of MBIRJAX 0.7.3 (make_mbir_goldens.py): image, trace of the iterations, where
 * they stop, sigmas. On every back end. */
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/npy.h"
#include "host/recon/recon.h"
#include "tests/operators/harness.h"

static const struct golden {
    const char *name;
    int weighted;
    int64_t max_iterations;
    double threshold;
    uint32_t seed;
} goldens[] = {
    {"par_default", 0, 15, 0.2, 7}, {"par_stopped", 1, 15, 1.5, 11},
    {"par_positive", 1, 6, 0, 7},   {"cone_default", 1, 15, 0.2, 0},
    {"cone_sigmas", 0, 4, 0, 3},    {"cone_positive_helical", 1, 5, 0, 7},
};
#define GOLDENS (int)(sizeof goldens / sizeof *goldens)

static float *load(const struct golden *g, const char *array, int dims, int64_t *shape)
{
    static const char *const names[3] = {"first size", "second size", "third size"};
    char path[500];
    float *data;
    snprintf(path, sizeof path, "%s/goldens_mbir/%s/%s.npy", DATA_FOLDER, g->name, array);
    for (int i = 0; i < dims; i++)
        shape[i] = -1;
    assert_ok(npy_read(path, dims, shape, names, 1, &data));
    return data;
}

/* Reconstructs one golden; the result is malloc'ed. */
static float *reconstruct(const struct golden *g, const char *backend, int threads,
                          struct ct_model *m, struct mbir_report *report)
{
    char path[500];
    int64_t shape[3];
    struct backend *be;
    struct buffer y, w = {0}, x;
    snprintf(path, sizeof path, "%s/goldens_mbir/%s/geometry.json", DATA_FOLDER, g->name);
    assert_ok(ct_model_read(path, m));
    const size_t sino = (size_t)scan_samples(&m->scan) * sizeof(float);
    const size_t vol = (size_t)volume_voxels(&m->volume) * sizeof(float);
    float *sinogram = load(g, "sinogram", 3, shape);
    float *weights = g->weighted ? load(g, "weights", 3, shape) : NULL, *out = malloc(vol);
    assert_ok(backend_open(backend, &(struct backend_options){.threads = threads}, &be));
    assert_ok(be->ops->upload(be, sinogram, sino, &y));
    if (weights)
        assert_ok(be->ops->upload(be, weights, sino, &w));
    assert_ok(be->ops->alloc(be, "volume", vol, &x));
    const struct mbir_options options = {.max_iterations = g->max_iterations,
                                         .stop_threshold_percent = g->threshold,
                                         .seed = g->seed,
                                         .weights = weights ? &w : NULL};
    assert_ok(mbir_recon(be, m, &y, &options, &x, report));
    assert_ok(be->ops->download(be, &x, out, vol));
    be->ops->release(be, &x);
    be->ops->release(be, &w);
    be->ops->release(be, &y);
    backend_close(be);
    mem_free(sinogram);
    mem_free(weights);
    return out;
}

/* MBIRJAX sums in float32: its first scale and step length are off by 1e-5, which fades. */
static void check_trace(const struct golden *g, const struct mbir_report *r)
{
    int64_t shape[2];
    float *trace = load(g, "trace", 2, shape), *sigmas = load(g, "sigmas", 1, shape + 1);
    assert_int_equal(r->iterations, shape[0]);
    assert_int_equal(r->stopped_by_threshold, shape[0] < g->max_iterations);
    for (int64_t i = 0; i < r->iterations; i++) {
        assert_near(r->fm_rmse[i] / (double)trace[3 * i], 1, 5e-5);
        assert_near(r->change_percent[i] / (double)trace[3 * i + 1], 1, 2e-4);
        assert_near(r->alpha[i] / (double)trace[3 * i + 2], 1, 2e-4);
    }
    assert_near(r->sigma_y / (double)sigmas[0], 1, 1e-6);
    assert_near(r->sigma_x / (double)sigmas[1], 1, 1e-6);
    mem_free(trace);
    mem_free(sigmas);
}

static void test_goldens(void **state)
{
    (void)state;
    struct worst worst = {.what = "MBIR runs against MBIRJAX", .limit = 1e-5};
    for (int b = 0; harness_backend(b); b++)
        for (int i = 0; i < GOLDENS; i++) {
            const struct golden *g = &goldens[i];
            if (!case_wanted(g->name))
                continue;
            struct ct_model m;
            struct mbir_report report;
            int64_t shape[3];
            float *x = reconstruct(g, harness_backend(b), 0, &m, &report);
            float *golden = load(g, "recon", 3, shape);
            assert_int_equal(shape[0], m.volume.rows);
            assert_int_equal(shape[1], m.volume.cols);
            assert_int_equal(shape[2], m.volume.slices);
            double *wide = widen(golden, volume_voxels(&m.volume));
            worst_note(&worst, g->name, relative_l2(x, wide, volume_voxels(&m.volume)));
            check_trace(g, &report);
            mbir_report_free(&report);
            ct_model_free(&m);
            mem_free(golden);
            free(wide);
            free(x);
        }
    worst_check(&worst);
}

/* Threads are the CPU's; device/test_order and tests/gpu see to the bits of a device. */
static void test_same_bits(void **state)
{
    (void)state;
    if (strcmp(harness_backend(0), "cpu") != 0)
        skip();
    for (int i = 1; i < GOLDENS; i += 3) { /* one parallel, one cone beam */
        static const int threads[3] = {1, 2, 7};
        float *first = NULL;
        for (int t = 0; t < 3; t++) {
            struct ct_model m;
            struct mbir_report report;
            float *x = reconstruct(&goldens[i], "cpu", threads[t], &m, &report);
            if (first)
                assert_memory_equal(x, first, (size_t)volume_voxels(&m.volume) * sizeof *x);
            mbir_report_free(&report);
            ct_model_free(&m);
            free(first);
            first = x;
        }
        free(first);
    }
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
