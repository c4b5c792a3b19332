/* links: tp_operators */
/* The same bits at 1, 2 and 7 threads and on every run. */
#include <stdio.h>

#include "host/recon/recon.h"
#include "tests/operators/harness.h"

/* 1 is the reference; 7 is more than the views or pixel blocks of several cases, and odd. */
static const int thread_counts[] = {1, 2, 7, 7};
#define RUNS (int)(sizeof thread_counts / sizeof *thread_counts)

enum result { FORWARD, SPARSE_FORWARD, BACK, HESSIAN, FILTER, DIRECT, MBIR, RESULTS };
static const char *const names[RESULTS] = {"forward", "sparse forward", "back", "Hessian",
                                           "filter",  "direct recon",   "MBIR"};

static float *run_filter(struct rig *r, const float *y)
{
    struct buffer in = rig_push(r, y, r->samples), out = rig_push(r, y, r->samples);
    assert_ok(direct_filter(r->be, &r->model, &in, &out));
    r->be->ops->release(r->be, &in);
    return rig_pull(r, &out, r->samples);
}

static float *run_direct(struct rig *r, const float *y)
{
    float *blank = floats(r->voxels);
    struct buffer in = rig_push(r, y, r->samples), scratch = rig_push(r, y, r->samples);
    struct buffer out = rig_push(r, blank, r->voxels);
    assert_ok(direct_recon(r->be, &r->model, &in, &scratch, &out));
    r->be->ops->release(r->be, &in);
    r->be->ops->release(r->be, &scratch);
    free(blank);
    return rig_pull(r, &out, r->voxels);
}

static float *run_mbir(struct rig *r, const float *y, const float *w)
{
    float *blank = floats(r->voxels);
    struct buffer in = rig_push(r, y, r->samples), weights = rig_push(r, w, r->samples);
    struct buffer out = rig_push(r, blank, r->voxels);
    struct mbir_report report;
    struct mbir_options o = {.max_iterations = 2, .seed = 3, .weights = &weights};
    assert_ok(mbir_recon(r->be, &r->model, &in, &o, &out, &report));
    mbir_report_free(&report);
    r->be->ops->release(r->be, &in);
    r->be->ops->release(r->be, &weights);
    free(blank);
    return rig_pull(r, &out, r->voxels);
}

static void compute(struct rig *r, const struct test_case *c, float *out[RESULTS])
{
    float *x = random_floats(1, -1, 1, r->voxels), *y = random_floats(2, 0, 1, r->samples);
    float *w = random_floats(3, .5, 1.5, r->samples);
    const struct pixel_set inside = rig_inside(r);
    const struct pixel_set few = {.indices = r->inside, .count = r->inside_count / 5};
    out[FORWARD] = rig_forward(r, inside, x, SINO_CHANNELS_FASTEST);
    out[SPARSE_FORWARD] = rig_forward(r, few, x, SINO_CHANNELS_FASTEST);
    out[BACK] = rig_back(r, inside, y, w, SINO_CHANNELS_FASTEST, 1, NULL);
    out[HESSIAN] = rig_back(r, inside, NULL, w, SINO_CHANNELS_FASTEST, 2, NULL);
    out[FILTER] = run_filter(r, y);
    out[DIRECT] = run_direct(r, y);
    out[MBIR] = c->mbir ? run_mbir(r, y, w) : NULL;
    free(x);
    free(y);
    free(w);
}

static int64_t length_of(const struct rig *r, int result)
{
    return result == FORWARD || result == SPARSE_FORWARD || result == FILTER ? r->samples
                                                                             : r->voxels;
}

static void check_case(const char *backend, const struct test_case *c)
{
    float *first[RESULTS], *again[RESULTS];
    for (int run = 0; run < RUNS; run++) {
        struct rig r;
        rig_open(&r, backend, thread_counts[run], c);
        compute(&r, c, run ? again : first);
        for (int i = 0; run && i < RESULTS; i++) {
            size_t bytes = (size_t)length_of(&r, i) * sizeof(float);
            if (first[i] && memcmp(first[i], again[i], bytes) != 0)
                fail_msg("%s: %s has other bits at %d threads (run %d)", r.name, names[i],
                         thread_counts[run], run);
            free(again[i]);
        }
        rig_close(&r);
    }
    for (int i = 0; i < RESULTS; i++)
        free(first[i]);
}

static void results_have_the_same_bits_at_any_thread_count(void **state)
{
    (void)state;
    for (int b = 0; harness_backend(b); b++)
        for (int i = 0; i < case_count; i++)
            check_case(harness_backend(b), &cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_the_same_bits_at_any_thread_count),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
