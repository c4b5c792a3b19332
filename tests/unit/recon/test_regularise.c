/* links: tp_recon */
/* sigma_y and sigma_x against MBIRJAX 0.7.3 (auto_set_regularization_params) on 45 views of 6 rows
 * of 37 channels: a parabola of height 1.5 around channel 20 plus noise of a linear congruential
 * generator, and stranger data. MBIRJAX sums in float32: 1e-6. */
#include "base/log.h"
#include "host/recon/recon.h"
#include "tests/unit/check.h"

enum { VIEWS = 45, ROWS = 6, CHANNELS = 37, SAMPLES = VIEWS * ROWS * CHANNELS };

static float y[SAMPLES], weights[SAMPLES];

enum kind { OBJECT, GRID, UNIFORM, NEGATIVE, CONSTANT };

static float sample(enum kind kind, double noise, int channel)
{
    double t = (channel - 20) / 9.0, bump = fmax(0, 1 - t * t);
    switch (kind) {
    case OBJECT:
        return (float)(1.5 * bump + 0.02 * (noise - 0.5));
    case GRID: /* many samples exactly on the edges of bins */
        return (float)(floor(1.5 * bump * 200 + 8 * noise) / 200);
    case UNIFORM:
        return (float)noise;
    case NEGATIVE:
        return (float)(-1 - noise);
    default:
        return 2;
    }
}

static void fill(enum kind kind)
{
    uint32_t s = 12345;
    for (int i = 0; i < SAMPLES; i++) {
        s = s * 1664525u + 1013904223u;
        double noise = (s >> 8) / 16777216.0;
        y[i] = sample(kind, noise, i % CHANNELS);
        weights[i] = (float)(0.5 + noise);
    }
}

static struct ct_model parallel(void)
{
    return (struct ct_model){
        .scan = {.beam = BEAM_PARALLEL,
                 .views = VIEWS,
                 .rows = ROWS,
                 .channels = CHANNELS,
                 .delta_row = 1,
                 .delta_channel = 1},
        .volume = {CHANNELS, CHANNELS, ROWS, 1, 1, 1, 0, ROR_ELLIPSE, 0},
        .regularisation = {.automatic = 1, .sharpness = 1, .snr_db = 30, .p = 2, .q = 1.2, .T = 1},
    };
}

static struct ct_model cone(void)
{
    struct ct_model m = parallel();
    m.scan.beam = BEAM_CONE;
    m.scan.source_detector = 150;
    m.scan.source_iso = 100;
    m.scan.delta_channel = 0.7;
    m.scan.delta_row = 0.8;
    m.volume.slices = 7;
    m.volume.delta = 0.7 / 1.5;
    m.regularisation.sharpness = 0.5;
    m.regularisation.snr_db = 35;
    return m;
}

static const struct backend nobody; /* wants the call to end */

static void test_mbirjax(void **state)
{
    (void)state;
    const struct {
        enum kind kind;
        int weighted;
        struct ct_model m;
        double sigma_y, sigma_x;
    } cases[] = {
        {OBJECT, 0, parallel(), 0.0356397144, 0.0114091849},
        {OBJECT, 1, parallel(), 0.0355159007, 0.0114091849},
        {OBJECT, 1, cone(), 0.019972058, 0.0172875263},
        {GRID, 0, parallel(), 0.0361540169, 0.0115961852},
        {UNIFORM, 0, parallel(), 0.0181699358, 0.00535913184},
        {NEGATIVE, 0, parallel(), 0.0481828377, 0.0161699429},
        {CONSTANT, 1, parallel(), 0.0631100535, 0.0216216221},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct regularisation r;
        fill(cases[i].kind);
        assert_ok(auto_regularise(&nobody, &cases[i].m, y, cases[i].weighted ? weights : NULL, &r));
        assert_near(r.sigma_y / cases[i].sigma_y, 1, 1e-6);
        assert_near(r.sigma_x / cases[i].sigma_x, 1, 1e-6);
        assert_near(r.sigma_prox, r.sigma_x, 0);
        assert_near(r.sigma_y, (float)r.sigma_y, 0);
        assert_near(r.q, 1.2, 0); /* the rest is kept */
    }
}

/* Only every second view of 45 is looked at. */
static void test_sampled_views(void **state)
{
    (void)state;
    struct ct_model m = parallel();
    struct regularisation first, second;
    fill(OBJECT);
    assert_ok(auto_regularise(&nobody, &m, y, NULL, &first));
    for (int v = 1; v < VIEWS; v += 2)
        for (int i = 0; i < ROWS * CHANNELS; i++)
            y[v * ROWS * CHANNELS + i] = 1e6f;
    assert_ok(auto_regularise(&nobody, &m, y, NULL, &second));
    assert_memory_equal(&first, &second, sizeof first);
}

/* A range of a few units in the last place has no 400 bins; zeros give sigmas of 0. */
static void test_narrow_and_empty(void **state)
{
    (void)state;
    struct ct_model m = parallel();
    struct regularisation r;
    for (int i = 0; i < SAMPLES; i++)
        y[i] = i % 3 ? 1.0f : nextafterf(1, 2);
    assert_ok(auto_regularise(&nobody, &m, y, NULL, &r));
    assert_near(r.sigma_y / pow(10, -1.5), 1, 1e-6);
    for (int i = 0; i < SAMPLES; i++)
        y[i] = 0;
    assert_ok(auto_regularise(&nobody, &m, y, NULL, &r));
    assert_near(r.sigma_y, 0, 0);
}

int main(void)
{
    log_set_level(LOG_ERROR); /* warnings about strange data are expected */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mbirjax),
        cmocka_unit_test(test_sampled_views),
        cmocka_unit_test(test_narrow_and_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
