/* links: tp_scan */
#include "base/log.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "host/scan/projections.h"
#include "tests/unit/check.h"

enum { ROWS = 5 };

struct scene {
    int views, channels;
    double range, offset, noise; /* radians; channels; share of the largest value */
    double side;                 /* the object's centre off the axis, in channels */
    enum phantom phantom;
    double scale; /* of the object; 0.8 stays on the detector */
};

static struct projections project(const struct scene *c)
{
    struct volume v = {.rows = c->channels,
                       .cols = c->channels,
                       .slices = ROWS,
                       .delta = 1,
                       .row_aspect = 1,
                       .slice_aspect = 1};
    struct ellipsoid e[PHANTOM_MAX];
    int n = phantom_ellipsoids(c->phantom, &v, e);
    for (int i = 0; i < n; i++) {
        e[i].x = e[i].x * c->scale + c->side;
        e[i].y *= c->scale;
        e[i].a *= c->scale;
        e[i].b *= c->scale;
    }
    float *angles = angles_even(.3, c->range, c->views);
    struct scan s = {.views = c->views,
                     .rows = ROWS,
                     .channels = c->channels,
                     .delta_row = 1,
                     .delta_channel = 1,
                     .channel_offset = c->offset,
                     .angles = angles};
    struct projections p = {
        .views = c->views, .rows = ROWS, .channels = c->channels, .angles = angles};
    void *y;
    assert_ok(mem_alloc("sinogram", (size_t)scan_samples(&s) * sizeof(float), &y));
    p.sinogram = y;
    phantom_project(e, n, &s, p.sinogram);
    if (c->noise > 0)
        noise_add(p.sinogram, scan_samples(&s), c->noise, 7);
    return p;
}

#define HALF_TURN_CLOSED(views)                                                                    \
    (M_PI * (views) / ((views)-1)) /* the last view is at exactly 180 degrees */
static const struct scene scenes[] = {
    {90, 100, M_PI, -3.3, 0, 0, PHANTOM_TWO_ELLIPSOIDS, .8},
    {90, 212, M_PI, 2.441, 0, 15, PHANTOM_TWO_ELLIPSOIDS, .8},
    {91, 107, HALF_TURN_CLOSED(91), 2.076, 0, 0, PHANTOM_TWO_ELLIPSOIDS, .8},
    {91, 219, HALF_TURN_CLOSED(91), .691, 0, 12, PHANTOM_TWO_ELLIPSOIDS, .8},
    {37, 142, M_PI, -.519, 0, 0, PHANTOM_SHEPP_LOGAN, .8},
    {180, 163, M_PI, 1.384, 0, 5, PHANTOM_SHEPP_LOGAN, .8},
    {360, 121, 2 * M_PI, -2.422, 0, 0, PHANTOM_TWO_ELLIPSOIDS, .8},
    {359, 233, 2 * M_PI, -3.806, 0, 10, PHANTOM_TWO_ELLIPSOIDS, .8}, /* no exact partner */
    {200, 300, 1.2 * M_PI, 11.7, 0, 10, PHANTOM_TWO_ELLIPSOIDS, .8},
    {180, 300, M_PI, 4.15, .02, 10, PHANTOM_TWO_ELLIPSOIDS, .8},
    {360, 317, 2 * M_PI, 3.806, .02, 20, PHANTOM_TWO_ELLIPSOIDS, .8},
    {180, 240, M_PI, 40.4, 0, 0, PHANTOM_TWO_ELLIPSOIDS, .5},  /* a sixth of the detector */
    {180, 200, -M_PI, -4.4, 0, 8, PHANTOM_TWO_ELLIPSOIDS, .8}, /* turning the other way */
};

static void test_known_centres(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        struct projections p = project(&scenes[i]);
        double center, score, want = (double)(p.channels - 1) / 2 + scenes[i].offset;
        assert_ok(find_center(&p, &center, &score));
        if (!(fabs(center - want) < .1))
            fail_msg("scene %zu: found %.3f, it is %.3f", i, center, want);
        assert_true(score > .9 && score <= 1);
        projections_free(&p);
    }
}

/* An object that leaves the detector on both sides. */
static void test_truncated(void **state)
{
    (void)state;
    struct scene c = {360, 200, 2 * M_PI, 3.7, 0, 10, PHANTOM_TWO_ELLIPSOIDS, 2};
    struct projections p = project(&c);
    double center, score;
    assert_true(p.sinogram[2 * 200] > 0 && p.sinogram[3 * 200 - 1] > 0); /* middle row */
    assert_ok(find_center(&p, &center, &score));
    assert_near(center, 99.5 + 3.7, .2);
    projections_free(&p);
}

static void test_order_does_not_matter(void **state)
{
    (void)state;
    struct projections p = project(&scenes[1]), q = project(&scenes[1]);
    int64_t n = p.rows * p.channels;
    for (int64_t v = 0; v < p.views; v++) { /* 37 is prime to 90 */
        int64_t from = v * 37 % p.views;
        memcpy(q.sinogram + v * n, p.sinogram + from * n, (size_t)n * sizeof(float));
        q.angles[v] = p.angles[from];
    }
    double a, b, score;
    assert_ok(find_center(&p, &a, &score));
    assert_ok(find_center(&q, &b, &score));
    assert_near(a, b, 1e-9);
    projections_free(&p);
    projections_free(&q);
}

static void test_impossible(void **state)
{
    (void)state;
    double center, score;
    struct scene c = scenes[0];
    c.range = .9 * M_PI;
    struct projections p = project(&c);
    assert_error(find_center(&p, &center, &score), ERR_INPUT, "180 degrees apart");
    projections_free(&p);
    c = scenes[0];
    c.views = 1;
    p = project(&c);
    assert_error(find_center(&p, &center, &score), ERR_INPUT, "180 degrees apart");
    projections_free(&p);
    p = project(&scenes[0]);
    memset(p.sinogram, 0, (size_t)(p.views * p.rows * p.channels) * sizeof(float));
    assert_error(find_center(&p, &center, &score), ERR_INPUT, "not alike");
    projections_free(&p);
}

static void test_narrow(void **state)
{
    (void)state;
    double center, score;
    struct scene c = {60, 16, M_PI, .4, 0, 0, PHANTOM_TWO_ELLIPSOIDS, .8};
    struct projections p = project(&c);
    assert_ok(find_center(&p, &center, &score));
    assert_near(center, 7.9, .2);
    projections_free(&p);
    c.channels = 7;
    p = project(&c);
    assert_error(find_center(&p, &center, &score), ERR_INPUT, "16 channels");
    projections_free(&p);
}

/* A tooth, measured; the centre was found by hand at 295.5. */
static void test_tooth(void **state)
{
    (void)state;
    struct projections p;
    double center, score;
    if (projections_read(&(struct exchange_source){.path = TP_DATA "/tooth.h5"}, 0, -1, &p) ==
        ERR_UNSUPPORTED)
        skip();
    assert_ok(find_center(&p, &center, &score));
    assert_near(center, 295.5, .5);
    assert_true(score > .99);
    projections_free(&p);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_centres),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_tooth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
