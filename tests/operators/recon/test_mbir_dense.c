/* links: tp_operators */
/* MBIR over the dense back end of dense.h: host/recon needs backend.h and nothing else, finds the
 * minimum of the cost, and gives everything back when any call fails. */
#include "base/log.h"
#include "host/geom/ct_model.h"
#include "host/recon/recon.h"
#include "tests/operators/dense.h"
#include "tests/unit/check.h"

struct world {
    struct backend be;
    struct ct_model m;
    struct buffer y, w, x;
    struct mbir_options options;
    struct mbir_report report;
    float angles[DENSE_VIEWS];
};

static double uniform(unsigned *seed)
{
    return rand_r(seed) / (double)RAND_MAX;
}

static void open_world(struct world *t)
{
    unsigned seed = 3;
    *t = (struct world){.be = {.ops = &dense_backend}};
    ct_model_init(&t->m);
    t->m.scan.views = DENSE_VIEWS;
    t->m.scan.rows = DENSE_ROWS;
    t->m.scan.channels = DENSE_CHANNELS;
    t->m.scan.angles = t->angles;
    t->m.volume =
        (struct volume){DENSE_HEIGHT, DENSE_WIDTH, DENSE_SLICES, 1, 1, 1, 0, ROR_ELLIPSE, 0};
    t->m.regularisation.automatic = 0;
    t->m.regularisation.sigma_y = 0.3;
    t->m.regularisation.sigma_x = 2;
    t->options = (struct mbir_options){.max_iterations = 8, .seed = 5, .weights = &t->w};
    assert_ok(dense_backend.alloc(&t->be, "", DENSE_SAMPLES * sizeof(float), &t->y));
    assert_ok(dense_backend.alloc(&t->be, "", DENSE_SAMPLES * sizeof(float), &t->w));
    assert_ok(dense_backend.alloc(&t->be, "", DENSE_VOXELS * sizeof(float), &t->x));
    for (int s = 0; s < DENSE_SAMPLES; s++) {
        for (int i = 0; i < DENSE_VOXELS; i++)
            dense_matrix[s][i] = uniform(&seed) * (uniform(&seed) < 0.3);
        dense_open(&t->y)[s] = (float)(uniform(&seed) * 3 - 0.5);
        dense_open(&t->w)[s] = (float)(uniform(&seed) + 0.1);
    }
}

static void close_world(struct world *t)
{
    mbir_report_free(&t->report);
    dense_backend.release(&t->be, &t->y);
    dense_backend.release(&t->be, &t->w);
    dense_backend.release(&t->be, &t->x);
    assert_int_equal(dense_live_buffers, 0);
    assert_int_equal(dense_live_projectors, 0);
}

static enum err reconstruct(struct world *t)
{
    mbir_report_free(&t->report);
    return mbir_recon(&t->be, &t->m, &t->y, &t->options, &t->x, &t->report);
}

static double weight_at(const struct world *t, int s)
{
    return t->options.weights ? (double)dense_open(&t->w)[s] : 1;
}

/* sum A'w(Ax - y) / sigma_y^2 + (x - 0.1)/sigma_x^2 at one voxel, and the weighted residual. */
static double gradient(const struct world *t, int i, double *residual)
{
    const struct regularisation *r = &t->m.regularisation;
    double sum = 0;
    *residual = 0;
    for (int s = 0; s < DENSE_SAMPLES; s++) {
        double e = (double)dense_open(&t->y)[s];
        for (int j = 0; j < DENSE_VOXELS; j++)
            e -= dense_matrix[s][j] * (double)dense_open(&t->x)[j];
        sum -= dense_matrix[s][i] * weight_at(t, s) * e;
        *residual += weight_at(t, s) * e * e;
    }
    return sum / (r->sigma_y * r->sigma_y) +
           ((double)dense_open(&t->x)[i] - 0.1) / (r->sigma_x * r->sigma_x);
}

/* Largest |gradient| over the region of reconstruction; where positivity holds a voxel at 0, only a
 * gradient that would lift it counts. Outside, x must be 0. */
static double worst_gradient(const struct world *t, double *residual)
{
    int32_t *inside;
    int64_t count, next = 0;
    double worst = 0;
    assert_ok(volume_pixels_inside(&t->m.volume, &inside, &count));
    for (int i = 0; i < DENSE_VOXELS; i++) {
        double g = gradient(t, i, residual), x = (double)dense_open(&t->x)[i];
        if (next == count || inside[next] != i / DENSE_SLICES) {
            assert_near(x, 0, 0);
            continue;
        }
        next += i % DENSE_SLICES == DENSE_SLICES - 1;
        int held = t->m.regularisation.positivity && x < 1e-6 && g > 0;
        worst = fmax(worst, held ? 0 : fabs(g));
    }
    free(inside);
    return worst;
}

static void check_minimum(struct world *t, double before)
{
    double residual, mean = 0;
    t->options.max_iterations = 300;
    assert_ok(reconstruct(t));
    assert_int_equal(t->report.iterations, 300);
    double g = worst_gradient(t, &residual);
    assert_true(g < 1e-4 * before);
    for (int s = 0; s < DENSE_SAMPLES; s++)
        mean += weight_at(t, s) / DENSE_SAMPLES;
    double rmse = sqrt(residual / mean / DENSE_SAMPLES) / t->m.regularisation.sigma_y;
    assert_near(t->report.fm_rmse[299], rmse, 1e-4 * rmse);
}

/* Far into the iterations x is the minimum, weighted or not, and e has kept up with it. */
static void test_minimum(void **state)
{
    (void)state;
    struct world t;
    double residual;
    open_world(&t);
    memset(dense_open(&t.x), 0, t.x.bytes);
    double before = worst_gradient(&t, &residual);
    check_minimum(&t, before);
    t.options.weights = NULL;
    check_minimum(&t, before);
    t.m.regularisation.positivity = 1;
    check_minimum(&t, before);
    for (int i = 0; i < DENSE_VOXELS; i++)
        assert_true(dense_open(&t.x)[i] > -1e-6f);
    close_world(&t);
}

/* The schedule and the stop rule as the report shows them. 14 pixels: 128 subsets become 14. */
static void test_report(void **state)
{
    (void)state;
    static const int64_t subsets[] = {4, 14, 14, 14, 14, 14, 14, 14};
    struct world t;
    open_world(&t);
    assert_ok(reconstruct(&t));
    assert_int_equal(t.report.iterations, 8);
    assert_false(t.report.stopped_by_threshold);
    assert_memory_equal(t.report.subsets, subsets, sizeof subsets);
    double third = t.report.change_percent[2], fourth = t.report.change_percent[3];
    assert_true(fourth < third);
    t.options.stop_threshold_percent = 0.5 * (third + fourth);
    assert_ok(reconstruct(&t));
    assert_int_equal(t.report.iterations, 4);
    assert_true(t.report.stopped_by_threshold);
    t.options.max_iterations = 0;
    assert_ok(reconstruct(&t));
    assert_int_equal(t.report.iterations, 0);
    t.options.max_iterations = -1;
    assert_error(reconstruct(&t), ERR_USAGE, "iterations is -1");
    close_world(&t);
}

/* A given image is not scaled, and its pixels outside the region stay as they are, unseen. */
static void test_initial_image(void **state)
{
    (void)state;
    struct world t;
    struct buffer first;
    open_world(&t);
    assert_ok(dense_backend.alloc(&t.be, "", DENSE_VOXELS * sizeof(float), &first));
    for (int i = 0; i < DENSE_VOXELS; i++)
        dense_open(&first)[i] = 7;
    t.options.initial = &first;
    assert_ok(reconstruct(&t));
    assert_near(t.report.initial_scale, 1, 0);
    assert_near(dense_open(&t.x)[0], 7, 0);
    double with_corners = t.report.fm_rmse[7];
    dense_open(&first)[0] = 0;
    assert_ok(reconstruct(&t));
    assert_near(t.report.fm_rmse[7], with_corners, 0);
    dense_backend.release(&t.be, &first);
    close_world(&t);
}

static void count_calls(void *context, int64_t done, int64_t total)
{
    assert_int_equal(total, 8);
    *(int64_t *)context = done;
}

static void test_progress_and_stop(void **state)
{
    (void)state;
    struct world t;
    int64_t done = 0;
    int stop = 0;
    open_world(&t);
    t.options.on_iteration = count_calls;
    t.options.context = &done;
    t.options.stop = &stop;
    assert_ok(reconstruct(&t));
    assert_int_equal(done, 8);
    stop = 1;
    assert_error(reconstruct(&t), ERR_INTERRUPTED, "iteration 1 of 8");
    assert_int_equal(t.report.iterations, 0);
    close_world(&t);
}

static void test_bad_data(void **state)
{
    (void)state;
    struct world t;
    open_world(&t);
    float *y = dense_open(&t.y), *w = dense_open(&t.w), kept = y[3];
    y[3] = NAN;
    assert_error(reconstruct(&t), ERR_INPUT, "the sinogram holds NaN or infinity");
    y[3] = kept;
    kept = w[5];
    w[5] = -1;
    assert_error(reconstruct(&t), ERR_INPUT, "negative value -1");
    w[5] = INFINITY;
    assert_error(reconstruct(&t), ERR_INPUT, "the weights hold NaN or infinity");
    memset(w, 0, DENSE_SAMPLES * sizeof *w);
    assert_error(reconstruct(&t), ERR_INPUT, "all weights are 0");
    t.options.weights = NULL;
    memset(y + DENSE_SAMPLES / 2, 0, DENSE_SAMPLES / 2 * sizeof *y);
    assert_ok(reconstruct(&t));
    memset(y, 0, DENSE_SAMPLES * sizeof *y);
    assert_error(reconstruct(&t), ERR_INPUT, "0 everywhere");
    y[3] = 1;
    t.m.volume.rows = 1; /* the inscribed ellipse of one row holds no pixel */
    assert_error(reconstruct(&t), ERR_INPUT, "use_ror_mask");
    close_world(&t);
}

/* Automatic regularisation downloads what lives elsewhere. */
static void test_automatic(void **state)
{
    (void)state;
    struct world t;
    struct regularisation r;
    open_world(&t);
    t.m.regularisation.automatic = 1;
    assert_ok(auto_regularise(&t.be, &t.m, dense_open(&t.y), dense_open(&t.w), &r));
    assert_ok(reconstruct(&t));
    assert_near(t.report.sigma_y, r.sigma_y, 0);
    assert_near(t.report.sigma_x, r.sigma_x, 0);
    close_world(&t);
}

/* Each call of the back end fails in turn: the error comes out and nothing stays behind. */
static void test_every_failure(void **state)
{
    (void)state;
    struct world t;
    open_world(&t);
    t.options.max_iterations = 1;
    t.m.regularisation.automatic = t.m.regularisation.positivity = 1;
    const int before = dense_live_buffers;
    int calls = 0;
    for (enum err e = ERR_FAILED; e != ERR_OK; calls++) {
        dense_fail_at = calls;
        e = reconstruct(&t);
        assert_true(e == ERR_OK || e == ERR_FAILED);
        assert_int_equal(dense_live_buffers, before);
        assert_int_equal(dense_live_projectors, 0);
    }
    dense_fail_at = -1;
    assert_true(calls > 30);
    close_world(&t);
}

int main(void)
{
    log_set_level(LOG_ERROR); /* 6 channels hold no background: a warning is in order */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minimum),       cmocka_unit_test(test_report),
        cmocka_unit_test(test_initial_image), cmocka_unit_test(test_progress_and_stop),
        cmocka_unit_test(test_bad_data),      cmocka_unit_test(test_automatic),
        cmocka_unit_test(test_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
