/* Every variant of the projections' kernels against the CPU: footprints of 2, 3, 4 and more taps,
 * columns and rows that fill a warp's registers once, partly, or several times. And what else no
 * other test makes the device do. */
#include <stdio.h>

#include "cuda/common/warp_partition.h"
#include "host/cpu/cpu.h"
#include "tests/device/shim/shim.h"
#include "tests/operators/harness.h"

/* Groups of 32: 1 to 9, those of one warp; 9 of which none is partly filled; 10 and 11, of two. */
static const int64_t lengths[] = {1, 33, 64, 65, 100, 129, 190, 200, 225, 257, 288, 290, 321};
#define LENGTHS (int)(sizeof lengths / sizeof *lengths)

enum result { FORWARD, TURNED, BACK, WHOLE, SQUARED, VOXEL, RESULTS };
static const char *const names[RESULTS] = {
    "forward", "forward, rows fastest", "back, by pixels", "back", "Hessian", "back by voxels"};

static int setup(void **state)
{
    backend_register(&cpu_backend);
    return harness_setup(state);
}

static void compute(const char *backend, const struct test_case *c, float *out[RESULTS],
                    int64_t *samples, int64_t *voxels)
{
    struct rig r;
    rig_open(&r, backend, 1, c);
    /* A list that does not ascend is taken pixel by pixel, one that does by tiles. */
    const struct pixel_set inside = rig_inside(&r);
    int32_t *const backwards = malloc((size_t)inside.count * sizeof *backwards);
    const struct pixel_set by_pixels = {backwards, inside.count, 0};
    assert_non_null(backwards);
    for (int64_t q = 0; q < inside.count; q++)
        backwards[q] = r.inside[inside.count - 1 - q];
    float *x = random_floats(1, -1, 1, r.voxels), *y = random_floats(2, -1, 1, r.samples);
    float *w = random_floats(3, .5, 1.5, r.samples);
    out[FORWARD] = rig_forward(&r, inside, x, SINO_CHANNELS_FASTEST);
    out[TURNED] = rig_forward(&r, inside, x, SINO_ROWS_FASTEST);
    out[BACK] = rig_back(&r, by_pixels, y, w, SINO_CHANNELS_FASTEST, 1, NULL);
    out[WHOLE] = rig_back(&r, inside, y, w, SINO_CHANNELS_FASTEST, 1, NULL);
    out[SQUARED] = rig_back(&r, inside, NULL, w, SINO_ROWS_FASTEST, 2, NULL);
    out[VOXEL] = c->beam == BEAM_CONE ? rig_back_voxel(&r, inside, y, SINO_CHANNELS_FASTEST, x)
                                      : floats(r.voxels);
    *samples = r.samples;
    *voxels = r.voxels;
    free(x);
    free(y);
    free(w);
    free(backwards);
    rig_close(&r);
}

static void compare(const struct test_case *c, struct worst *worst)
{
    float *found[RESULTS], *expected[RESULTS];
    int64_t samples, voxels;
    char where[64];
    compute("cpu", c, expected, &samples, &voxels);
    compute("cuda", c, found, &samples, &voxels);
    for (int i = 0; i < RESULTS; i++) {
        const int64_t n = i < BACK ? samples : voxels;
        double *wide = widen(expected[i], n);
        snprintf(where, sizeof where, "%s, %s, pixels of %g, %lld", c->name, names[i], c->delta,
                 (long long)c->rows);
        worst_note(worst, where, relative_l2(found[i], wide, n));
        free(wide);
        free(expected[i]);
        free(found[i]);
    }
}

static void every_shape_gives_what_the_cpu_gives(void **state)
{
    (void)state;
    /* 2, 3, 4 taps, more. A cone magnifies by 2; its slices keep the height of a row, once not. */
    static const double deltas[] = {.8, 1.8, 2.8, 4.8};
    struct worst worst = {.what = "device against CPU", .limit = 3e-6};
    for (int i = 0; i < LENGTHS; i++)
        for (size_t k = 0; k < sizeof deltas / sizeof *deltas; k++) {
            const int64_t slices = lengths[LENGTHS - 1 - i];
            const double delta = deltas[k] / 2.2;
            const struct test_case parallel = {
                "parallel",    .views = 3,         .rows = lengths[i],         .channels = 12,
                .unmasked = 1, .delta = deltas[k], .shape = {4, 5, lengths[i]}};
            const struct test_case cone = {"cone",
                                           .beam = BEAM_CONE,
                                           .views = 3,
                                           .rows = lengths[i],
                                           .channels = 12,
                                           .unmasked = 1,
                                           .source_detector = 200,
                                           .source_iso = 100,
                                           .delta = delta,
                                           .slice_aspect = i == 5 ? 6 : .5 / delta,
                                           .shape = {4, 5, slices}};
            compare(&parallel, &worst);
            compare(&cone, &worst);
        }
    worst_check(&worst);
    const int forward = shim_variants_of("forward_projection");
    const int back = shim_variants_of("back_projection");
    const int tiles = shim_variants_of("back_projection_tiles");
    const int voxels = shim_variants_of("back_projection_voxel");
    print_message("%d kernels forward, %d back, %d by tiles, %d by voxels\n", forward, back, tiles,
                  voxels);
    assert_int_equal(forward, 2 * 4 * DEEPEST); /* beams, taps, depths */
    assert_int_equal(back, 2 * 4 * DEEPEST);
    assert_int_equal(tiles, 3 * 4); /* taps, depths */
    assert_int_equal(voxels, DEEPEST);
}

/* Computes the prior's terms of a few pixels, malloc'ed: gradient, then curvature. */
static float *terms(const char *backend, const struct test_case *c, double sigma)
{
    struct rig r;
    struct prior prior;
    rig_open(&r, backend, 1, c);
    const struct pixel_set few = {.indices = r.inside, .count = r.inside_count / 2};
    const int64_t n = few.count * r.model.volume.slices;
    float *a = random_floats(4, -1, 1, r.voxels), *b = random_floats(5, -1, 1, r.voxels);
    struct buffer x = rig_push(&r, a, r.voxels), target = rig_push(&r, b, r.voxels);
    struct buffer g = rig_push(&r, a, n), h = rig_push(&r, a, n);
    r.model.regularisation.sigma_prox = sigma;
    prior = (struct prior){&r.model.regularisation, &target};
    const enum err e = r.be->ops->prior_terms(r.be, &r.model.volume, &prior, &few, &x, &g, &h);
    r.be->ops->release(r.be, &x);
    r.be->ops->release(r.be, &target);
    float *first = rig_pull(&r, &g, n), *second = rig_pull(&r, &h, n), *out = floats(2 * n);
    memcpy(out, first, (size_t)n * sizeof *out);
    memcpy(out + n, second, (size_t)n * sizeof *out);
    if (e)
        assert_error(e, ERR_INPUT, "must be greater than 0");
    free(first);
    free(second);
    free(a);
    free(b);
    rig_close(&r);
    if (!e)
        return out;
    free(out);
    return NULL;
}

static void the_proximal_prior_is_the_cpus(void **state)
{
    (void)state;
    const struct test_case c = {"proximal", .views = 3, .rows = 150, .channels = 9};
    float *expected = terms("cpu", &c, .7), *found = terms("cuda", &c, .7);
    assert_non_null(expected);
    assert_non_null(found);
    struct rig r;
    rig_open(&r, "cpu", 1, &c);
    const int64_t n = 2 * (r.inside_count / 2) * r.model.volume.slices;
    rig_close(&r);
    double *wide = widen(expected, n);
    assert_true(relative_l2(found, wide, n) <= 1e-6);
    assert_null(terms("cuda", &c, 0));
    free(wide);
    free(expected);
    free(found);
}

/* Between arrays of one order: a copy. */
static void a_sinogram_keeps_its_order(void **state)
{
    (void)state;
    struct rig r;
    const struct test_case c = {"order", .views = 2, .rows = 3, .channels = 5};
    rig_open(&r, "cuda", 1, &c);
    float *y = random_floats(6, -1, 1, r.samples);
    struct buffer from = rig_push(&r, y, r.samples), to = rig_push(&r, y, r.samples);
    assert_ok(r.be->ops->zero(r.be, &to));
    assert_ok(r.be->ops->sino_reorder(r.be, &r.model.scan,
                                      (struct sinogram){&from, SINO_ROWS_FASTEST},
                                      (struct sinogram){&to, SINO_ROWS_FASTEST}));
    r.be->ops->release(r.be, &from);
    float *found = rig_pull(&r, &to, r.samples);
    assert_memory_equal(found, y, (size_t)r.samples * sizeof *y);
    free(found);
    free(y);
    rig_close(&r);
}

/* Launches of a few views each, as a display's watchdog may ask for. */
static void short_launches_give_the_same_bits(void **state)
{
    (void)state;
    static const struct test_case shapes[] = {
        {"parallel", .views = 70, .rows = 5, .channels = 12, .shape = {9, 10, 5}},
        {"cone", .beam = BEAM_CONE, .views = 70, .rows = 5, .channels = 12, .source_detector = 200,
         .source_iso = 100, .shape = {9, 10, 5}}};
    for (int i = 0; i < 2; i++) {
        float *whole[RESULTS], *pieces[RESULTS];
        int64_t n[2], launches[3] = {shim_counts().launches};
        compute("cuda", &shapes[i], whole, &n[0], &n[1]);
        launches[1] = shim_counts().launches;
        setenv("TOMOPROF_CUDA_LAUNCH", "1e-9", 1);
        compute("cuda", &shapes[i], pieces, &n[0], &n[1]);
        unsetenv("TOMOPROF_CUDA_LAUNCH");
        launches[2] = shim_counts().launches;
        assert_true(launches[2] - launches[1] > 2 * (launches[1] - launches[0]));
        for (int k = 0; k < RESULTS; k++) {
            assert_memory_equal(whole[k], pieces[k], (size_t)n[k >= BACK] * sizeof(float));
            free(whole[k]);
            free(pieces[k]);
        }
    }
}

/* More tables on their way than fit into the pinned memory where they wait. */
static void tables_wait_for_their_turn(void **state)
{
    (void)state;
    struct rig r;
    struct projector *more[4];
    const struct test_case c = {"tables",      .views = 850,  .rows = 1,
                                .channels = 4, .unmasked = 1, .shape = {2, 2, 1}};
    rig_open(&r, "cuda", 1, &c);
    const struct backend_ops *const ops = r.be->ops;
    const int64_t waits = shim_counts().waits;
    for (int i = 0; i < 4; i++)
        assert_ok(ops->projector_create(r.be, &r.model.scan, &r.model.volume, &more[i]));
    assert_in_range(shim_counts().waits - waits, 1, 2);
    float *x = random_floats(7, 0, 1, r.voxels);
    float *expected = rig_forward(&r, rig_inside(&r), x, SINO_ROWS_FASTEST);
    for (int i = 0; i < 4; i++) {
        struct projector *const first = r.projector;
        r.projector = more[i];
        float *found = rig_forward(&r, rig_inside(&r), x, SINO_ROWS_FASTEST);
        assert_memory_equal(found, expected, (size_t)r.samples * sizeof *found);
        r.projector = first;
        ops->projector_free(r.be, more[i]);
        free(found);
    }
    free(x);
    free(expected);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_gives_what_the_cpu_gives),
        cmocka_unit_test(the_proximal_prior_is_the_cpus),
        cmocka_unit_test(a_sinogram_keeps_its_order),
        cmocka_unit_test(short_launches_give_the_same_bits),
        cmocka_unit_test(tables_wait_for_their_turn),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
