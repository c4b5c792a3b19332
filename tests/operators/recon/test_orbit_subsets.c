/* links: tp_operators -Wl,--wrap=orbit_passes_open */
/* Subsets of whole orbits in an iteration of VCD over cone beams: the same steps as pixel by pixel,
 * the same bits with any number of threads. */
#include "host/cpu/vcd/iteration.h"
#include "host/recon/partition.h"
#include "host/recon/recon.h"
#include "tests/operators/harness.h"

#define SUBSETS    8
#define ITERATIONS 3
#define CONE(v, m, n)                                                                              \
    .beam = BEAM_CONE, .views = v, .rows = m, .channels = n, .source_detector = 4 * n,             \
    .source_iso = 2 * n

static const struct orbit_case {
    struct test_case c;
    int orbits;
} orbit_cases[] = {
    {{"whole turn", CONE(16, 20, 20)}, 1},
    {{"whole turn backwards", CONE(24, 33, 22), .extent = -2 * M_PI}, 1},
    {{"two views of four", CONE(8, 18, 20), .channel_offset = 1.3, .row_offset = -.6}, 1},
    {{"half a turn", CONE(14, 20, 22), .extent = M_PI}, 1},
    {{"whole turn of 2 x odd views", CONE(14, 33, 20)}, 1},
    {{"curved", CONE(16, 20, 20), .curved = 1}, 1},
    {{"odd side", CONE(16, 20, 21)}, 0},
    {{"odd number of views", CONE(15, 20, 20)}, 0},
    {{"part of a turn", CONE(16, 20, 20), .extent = 3.5}, 0},
};
#define ORBIT_CASES (int)(sizeof orbit_cases / sizeof *orbit_cases)

static int orbits_opened;

enum err __real_orbit_passes_open(const struct iteration *it, struct iteration **out);
enum err __wrap_orbit_passes_open(const struct iteration *it, struct iteration **out);
enum err __wrap_orbit_passes_open(const struct iteration *it, struct iteration **out)
{
    const struct iteration *before = *out;
    TRY(__real_orbit_passes_open(it, out));
    orbits_opened += *out != before;
    return ERR_OK;
}

struct orbit_data {
    float *y, *w;
    struct mbir_subsets subsets;
    struct partition part;
    int32_t sequence[ITERATIONS], orders[ITERATIONS * SUBSETS];
};

static void orbit_data_make(struct rig *r, struct orbit_data *d)
{
    struct rng rng;
    float *x = random_floats(3, 0, 1, r->voxels);
    d->y = rig_forward(r, rig_inside(r), x, SINO_CHANNELS_FASTEST);
    d->w = random_floats(4, .5, 1.5, r->samples);
    rng_seed(&rng, 1);
    assert_ok(partition_create_turns(&r->model.volume, SUBSETS, &rng, &d->part));
    for (int i = 0; i < ITERATIONS; i++) {
        d->sequence[i] = 0;
        for (int s = 0; s < SUBSETS; s++)
            d->orders[i * SUBSETS + s] = (s * 3 + i) % SUBSETS;
    }
    d->subsets = (struct mbir_subsets){&d->part, 1, d->sequence, d->orders};
    free(x);
}

static void orbit_data_free(struct orbit_data *d)
{
    free(d->y);
    free(d->w);
    partition_free(&d->part);
}

/* `whole`: by the back end's iteration, else by its passes, which go pixel by pixel. */
static float *orbit_run(struct rig *r, const struct orbit_data *d, int threads, int whole)
{
    const struct backend_ops *const ops = r->be->ops;
    struct backend_ops passes = *ops;
    float *blank = floats(r->voxels);
    struct buffer in = rig_push(r, d->y, r->samples), out = rig_push(r, blank, r->voxels);
    struct buffer weights = rig_push(r, d->w, r->samples);
    struct mbir_report report;
    const struct mbir_options o = {
        .max_iterations = ITERATIONS, .weights = &weights, .subsets = &d->subsets};
    const int before = r->be->threads;
    passes.vcd_iteration = NULL;
    r->be->ops = whole ? ops : &passes;
    r->be->threads = threads;
    assert_ok(mbir_recon(r->be, &r->model, &in, &o, &out, &report));
    r->be->ops = ops;
    r->be->threads = before;
    mbir_report_free(&report);
    ops->release(r->be, &in);
    ops->release(r->be, &weights);
    free(blank);
    return rig_pull(r, &out, r->voxels);
}

static void orbits_take_the_same_steps(void **state)
{
    (void)state;
    struct worst w = {.what = "VCD by orbits against pixel by pixel", .limit = 1e-5};
    for (int i = 0; i < ORBIT_CASES; i++) {
        struct rig r;
        struct orbit_data d;
        rig_open(&r, "cpu", 1, &orbit_cases[i].c);
        orbit_data_make(&r, &d);
        orbits_opened = 0;
        float *whole = orbit_run(&r, &d, 1, 1), *passes = orbit_run(&r, &d, 1, 0);
        if (orbits_opened != (orbit_cases[i].orbits ? ITERATIONS : 0))
            fail_msg("%s: %d iterations by orbits", r.name, orbits_opened);
        double *expected = widen(passes, r.voxels);
        worst_note(&w, r.name, relative_l2(whole, expected, r.voxels));
        float *threads = orbit_run(&r, &d, 3, 1);
        assert_memory_equal(threads, whole, (size_t)r.voxels * sizeof *whole);
        free(whole);
        free(passes);
        free(threads);
        free(expected);
        orbit_data_free(&d);
        rig_close(&r);
    }
    worst_check(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orbits_take_the_same_steps)};
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
