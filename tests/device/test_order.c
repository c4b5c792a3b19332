/* Blocks and threads in another order give the same bits: no kernel has a race. And the check sees
 * one: a kernel that has it gives other bits. */
#include "host/recon/recon.h"
#include "tests/device/shim/shim.h"
#include "tests/operators/harness.h"

static const unsigned seeds[] = {0, 7919, 104729};
#define SEEDS (int)(sizeof seeds / sizeof *seeds)

enum result { FORWARD, SPARSE_FORWARD, BACK, HESSIAN, FILTER, MEDIAN, MBIR, VOXEL, RESULTS };
static const char *const names[RESULTS] = {"forward", "sparse forward", "back", "Hessian",
                                           "filter",  "median",         "MBIR", "back by voxels"};

static float *run_filter(struct rig *r, const float *y)
{
    struct buffer in = rig_push(r, y, r->samples), out = rig_push(r, y, r->samples);
    assert_ok(direct_filter(r->be, &r->model, &in, &out));
    r->be->ops->release(r->be, &in);
    return rig_pull(r, &out, r->samples);
}

static float *run_median(struct rig *r, const float *x)
{
    const struct volume *v = &r->model.volume;
    struct buffer in = rig_push(r, x, r->voxels), out = rig_push(r, x, r->voxels);
    assert_ok(r->be->ops->median3(r->be, v->rows, v->cols, v->slices, &in, &out));
    r->be->ops->release(r->be, &in);
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
    const struct pixel_set inside = {.indices = r->inside, .count = r->inside_count};
    const struct pixel_set few = {.indices = r->inside, .count = r->inside_count / 5};
    out[FORWARD] = rig_forward(r, inside, x, SINO_CHANNELS_FASTEST);
    out[SPARSE_FORWARD] = rig_forward(r, few, x, SINO_CHANNELS_FASTEST);
    out[BACK] = rig_back(r, inside, y, w, SINO_CHANNELS_FASTEST, 1, NULL);
    out[HESSIAN] = rig_back(r, inside, NULL, w, SINO_CHANNELS_FASTEST, 2, NULL);
    out[FILTER] = run_filter(r, y);
    out[MEDIAN] = run_median(r, x);
    out[MBIR] = c->mbir ? run_mbir(r, y, w) : NULL;
    out[VOXEL] = scan_is_cone(&r->model.scan)
                     ? rig_back_voxel(r, inside, y, SINO_CHANNELS_FASTEST, x)
                     : NULL;
    free(x);
    free(y);
    free(w);
}

static int64_t length_of(const struct rig *r, int result)
{
    return result == FORWARD || result == SPARSE_FORWARD || result == FILTER ? r->samples
                                                                             : r->voxels;
}

static void check_case(const struct test_case *c)
{
    float *first[RESULTS], *again[RESULTS];
    for (int run = 0; run < SEEDS; run++) {
        struct rig r;
        shim_order(seeds[run]);
        rig_open(&r, "cuda", 1, c);
        compute(&r, c, run ? again : first);
        for (int i = 0; run && i < RESULTS; i++) {
            size_t bytes = (size_t)length_of(&r, i) * sizeof(float);
            if (first[i] && memcmp(first[i], again[i], bytes) != 0)
                fail_msg("%s: %s has other bits in order %u", r.name, names[i], seeds[run]);
            free(again[i]);
        }
        rig_close(&r);
        shim_order(0);
    }
    for (int i = 0; i < RESULTS; i++)
        free(first[i]);
}

/* The two with iterations on small volumes stand for all that have them. */
static void results_have_the_same_bits_in_any_order(void **state)
{
    (void)state;
    int iterated = 0;
    for (int i = 0; i < case_count; i++) {
        struct test_case c = cases[i];
        c.mbir = c.mbir && (iterated == 0 || c.z_first != 0) && ++iterated;
        check_case(&c);
    }
    assert_int_equal(iterated, 3);
}

static void a_race_gives_other_bits(void **state)
{
    (void)state;
    const int natural = shim_race(0), permuted = shim_race(seeds[1]);
    assert_int_not_equal(natural, permuted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_the_same_bits_in_any_order),
        cmocka_unit_test(a_race_gives_other_bits),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
