/* links: tp_operators -Wl,--wrap=schedule_create */
/* The fingerprints of VCD that MBIRJAX's own project publishes for version 0.7.2: 3 iterations from
 * NumPy inputs of 128 views of 112 x 96 cells. The other operators: test_fingerprints.py. */
#include "host/recon/mbir.h"
#include "tests/operators/harness.h"

/* There the generator was seeded once more after the partitions were drawn. */
enum err __real_schedule_create(const int32_t *pixels, int64_t count, uint32_t seed, int compat_06,
                                struct schedule *out);
enum err __wrap_schedule_create(const int32_t *pixels, int64_t count, uint32_t seed, int compat_06,
                                struct schedule *out);
enum err __wrap_schedule_create(const int32_t *pixels, int64_t count, uint32_t seed, int compat_06,
                                struct schedule *out)
{
    TRY(__real_schedule_create(pixels, count, seed, compat_06, out));
    rng_seed(&out->rng, seed);
    return ERR_OK;
}

/* numpy.random.default_rng(seed) for seeds below 2^32: PCG64 (O'Neill 2014, XSL-RR) behind
 * SeedSequence. */
struct pcg64 {
    unsigned __int128 state, increment;
    uint32_t half;
    int has_half;
};

static uint32_t hash(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ (value >> 16);
}

static uint64_t next64(struct pcg64 *g)
{
    const unsigned __int128 multiplier =
        (unsigned __int128)2549297995355413924u << 64 | 4865540595714422341u;
    g->state = g->state * multiplier + g->increment;
    uint64_t folded = (uint64_t)(g->state >> 64) ^ (uint64_t)g->state;
    unsigned turn = (unsigned)(g->state >> 122);
    return folded >> turn | folded << ((64 - turn) % 64);
}

static struct pcg64 default_rng(uint32_t seed)
{
    uint32_t pool[4] = {seed}, constant = 0x43b0d7e5, words[8];
    for (int i = 0; i < 4; i++)
        pool[i] = hash(pool[i], &constant, 0x931e8875);
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            if (from != to) {
                uint32_t mixed =
                    0xca01f9dd * pool[to] - 0x4973f715 * hash(pool[from], &constant, 0x931e8875);
                pool[to] = mixed ^ (mixed >> 16);
            }
    constant = 0x8b51f9dd;
    for (int i = 0; i < 8; i++)
        words[i] = hash(pool[i % 4], &constant, 0x58f38ded);
    unsigned __int128
        value[2]; /* state and sequence: two 64-bit numbers each, the high one first */
    for (int i = 0; i < 2; i++) {
        const uint32_t *w = words + 4 * i;
        value[i] =
            (unsigned __int128)((uint64_t)w[1] << 32 | w[0]) << 64 | ((uint64_t)w[3] << 32 | w[2]);
    }
    struct pcg64 g = {.increment = value[1] << 1 | 1};
    (void)next64(&g);
    g.state += value[0];
    (void)next64(&g);
    return g;
}

/* .random(dtype=float32) */
static float random_float(struct pcg64 *g)
{
    g->has_half = !g->has_half;
    if (g->has_half) {
        uint64_t both = next64(g);
        g->half = (uint32_t)(both >> 32);
        return (float)((uint32_t)both >> 8) * 0x1p-24f;
    }
    return (float)(g->half >> 8) * 0x1p-24f;
}

/* .uniform(low, high) */
static double uniform(struct pcg64 *g, double low, double high)
{
    return low + (high - low) * ((double)(next64(g) >> 11) * 0x1p-53);
}

static void generator_draws_numpys_numbers(void **state)
{
    (void)state;
    struct pcg64 g = default_rng(0);
    const double floats_of_0[] = {.8506242, .63696164, .5111365, .26978666, .30782938};
    for (int i = 0; i < 5; i++)
        assert_near(random_float(&g), floats_of_0[i], 1e-7);
    g = default_rng(13);
    const double uniforms_of_13[] = {1.364797587, 1.3553025149, 1.3110233988};
    for (int i = 0; i < 3; i++)
        assert_near(uniform(&g, .5, 1.5), uniforms_of_13[i], 1e-9);
}

/* Published numbers: the volume's sum, l2 norm, extremes and 12 samples at evenly spaced flat
 * indices, and of a float64 reference the initial scale and, per iteration, fm_rmse, relative
 * change and mean alpha. */
static const struct published {
    struct test_case geometry;
    double sum, l2, min, max, samples[12], initial_scale, trace[3][3];
} published[] = {
    {{"parallel", .beam = BEAM_PARALLEL, .views = 128, .rows = 112, .channels = 96},
     5328.92815,
     25.9126213,
     -0.1415518,
     0.1698242,
     {0, -.02740639, .01193131, .05409052, .03748063, -.008008359, .03887091, .06489703, .03008834,
      -.03139875, -.0120473, 0},
     1.165013,
     {{.232856, .074531, .08053}, {.227030, .159813, .29150}, {.218264, .275187, .91360}}},
    {{"cone", .beam = BEAM_CONE, .views = 128, .rows = 112, .channels = 96, .source_detector = 384,
      .source_iso = 192, .extent = M_PI, .shape = {96, 96, 126}},
     11104.6688,
     53.8969545,
     -0.2677512,
     0.3757151,
     {0, .1231154, .06272723, -.0166531, .09285082, -.02669638, .06802519, .08301064, .01794165,
      -.01203228, .03104427, 0},
     1.105868,
     {{.245342, .135898, .05692}, {.237322, .246048, .24828}, {.223681, .397633, .88396}}},
};

static void check_volume(const struct rig *r, const struct published *p, const float *x)
{
    double sum = 0, squares = 0, low = 0, high = 0, worst_sample = 0;
    int sampled = 0;
    for (int64_t i = 0; i < r->voxels; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    for (int i = 0; i < 12; i++) {
        int64_t at = (int64_t)((double)i * (double)(r->voxels - 1) / 11);
        worst_sample = fmax(worst_sample, fabs((double)x[at] - p->samples[i]));
        sampled |= p->samples[i] != 0;
    }
    worst_sample = sampled ? worst_sample : 0;
    print_message("%s: sum %.9g, l2 %.9g, min %.7g, max %.7g, samples within %.1g\n", r->name, sum,
                  sqrt(squares), low, high, worst_sample);
    assert_near(sum, p->sum, 1e-4 * p->sum);
    assert_near(sqrt(squares), p->l2, 1e-4 * p->l2);
    assert_near(low, p->min, 1e-4 * p->max);
    assert_near(high, p->max, 1e-4 * p->max);
    assert_near(worst_sample, 0, 1e-4 * p->max);
}

static void check_trace(const struct published *p, const struct mbir_report *report)
{
    assert_int_equal(report->iterations, 3);
    assert_near(report->initial_scale, p->initial_scale, 1e-6);
    for (int it = 0; it < 3; it++) {
        assert_near(report->fm_rmse[it], p->trace[it][0], 2e-6);
        assert_near(report->change_percent[it] / 100, p->trace[it][1], 1e-5);
        assert_near(report->alpha[it], p->trace[it][2], 2e-5);
    }
}

static void check(struct rig *r, const struct published *p, int compat_06)
{
    float *y = floats(r->samples), *w = floats(r->samples), *blank = floats(r->voxels);
    struct pcg64 of_y = default_rng(0), of_w = default_rng(13);
    for (int64_t i = 0; i < r->samples; i++) {
        y[i] = random_float(&of_y);
        w[i] = (float)uniform(&of_w, .5, 1.5);
    }
    r->model.regularisation.automatic = 0; /* sigma_y = sigma_x = 1 */
    struct buffer data = rig_push(r, y, r->samples), weights = rig_push(r, w, r->samples);
    struct buffer out = rig_push(r, blank, r->voxels);
    const struct mbir_options options = {
        .max_iterations = 3, .seed = 7, .weights = &weights, .compat_06 = compat_06};
    struct mbir_report report;
    assert_ok(mbir_recon(r->be, &r->model, &data, &options, &out, &report));
    r->be->ops->release(r->be, &data);
    r->be->ops->release(r->be, &weights);
    float *x = rig_pull(r, &out, r->voxels);
    check_volume(r, p, x);
    if (!compat_06)
        check_trace(p, &report);
    mbir_report_free(&report);
    free(y);
    free(w);
    free(blank);
    free(x);
}

static void vcd_has_the_published_fingerprint(void **state)
{
    (void)state;
    for (int b = 0; harness_backend(b); b++)
        for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
            struct rig r;
            rig_open(&r, harness_backend(b), 1, &published[i].geometry);
            check(&r, &published[i], 0);
            rig_close(&r);
        }
}

/* The same of version 0.6.17.1: sum, l2 and extremes alone. */
static const struct published published_06[] = {
    {{"parallel, 0.6", .beam = BEAM_PARALLEL, .views = 128, .rows = 112, .channels = 96},
     .sum = 5271.71951,
     .l2 = 21.0190894,
     .min = -0.104894,
     .max = 0.1310564},
    {{"cone, 0.6", .beam = BEAM_CONE, .views = 128, .rows = 112, .channels = 96,
      .source_detector = 384, .source_iso = 192, .extent = M_PI},
     .sum = 10951.6606,
     .l2 = 36.4721997,
     .min = -0.172004,
     .max = 0.2483552},
};

static void compat_06_has_the_published_fingerprint(void **state)
{
    (void)state;
    for (int b = 0; harness_backend(b); b++)
        for (size_t i = 0; i < sizeof published_06 / sizeof *published_06; i++) {
            struct rig r;
            rig_open(&r, harness_backend(b), 1, &published_06[i].geometry);
            check(&r, &published_06[i], 1);
            rig_close(&r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generator_draws_numpys_numbers),
        cmocka_unit_test(vcd_has_the_published_fingerprint),
        cmocka_unit_test(compat_06_has_the_published_fingerprint),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
