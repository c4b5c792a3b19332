/* links: tp_operators */
/* Projections of ellipsoids: A x of sampled ellipsoids comes near their exact line integrals, the
 * nearer the finer the grid. Nothing here shares a formula with the projectors or their twins but
 * the geometry itself, so a wrong sign, offset or scale shows. */
#include "host/geom/phantom.h"
#include "tests/operators/harness.h"

/* A scan of an object of extent 2 in every direction at N detector cells per side. */
struct setting {
    const char *name;
    enum beam beam;
    double D, d, start, row_aspect, slice_aspect;
    double channel_offset, row_offset, slice_offset, helix; /* in units of half the extent */
    int curved;
};
static const struct setting settings[] = {
    {"parallel", BEAM_PARALLEL, .start = .1},
    {"parallel, offset, flat voxels", BEAM_PARALLEL, .row_aspect = 1.5, .channel_offset = .23},
    {"cone", BEAM_CONE, 8, 4, .start = .1},
    {"cone, wide", BEAM_CONE, 5, 2.5, .start = -.3},
    {"cone, aspects, offsets", BEAM_CONE, 9, 5, .row_aspect = 1.4, .slice_aspect = 1.3,
     .channel_offset = -.31, .row_offset = .17, .slice_offset = .12},
    {"cone, curved", BEAM_CONE, 5, 2.5, .curved = 1, .channel_offset = .2},
    {"cone, helical", BEAM_CONE, 8, 4, .helix = .3},
    {"cone, rays parallel", BEAM_CONE, (double)INFINITY, (double)INFINITY, .start = .2},
};

static double or_one(double value)
{
    return value != 0 ? value : 1;
}

/* The detector sees the whole object: half the extent, magnified, and a margin. */
static struct test_case case_of(const struct setting *s, int64_t n)
{
    double magnification = s->beam == BEAM_PARALLEL || isinf(s->D) ? 1 : s->D / s->d;
    double side = 2 * magnification, cell = side / (double)n, voxel = 2.0 / (double)n;
    int64_t across = s->beam == BEAM_PARALLEL ? n * 3 / 2 : n * 2, up = across;
    if (s->beam == BEAM_PARALLEL)
        up = n;
    return (struct test_case){.name = s->name,
                              .beam = s->beam,
                              .views = 7,
                              .rows = up,
                              .channels = across,
                              .source_detector = s->D,
                              .source_iso = s->d,
                              .start = s->start,
                              .delta_row = cell,
                              .delta_channel = cell,
                              .channel_offset = s->channel_offset * side / 2,
                              .row_offset = s->row_offset * side / 2,
                              .z_first = -s->helix,
                              .z_last = s->helix,
                              .curved = s->curved,
                              .shape = {(int64_t)lrint((double)n / or_one(s->row_aspect)), n,
                                        (int64_t)lrint((double)n / or_one(s->slice_aspect))},
                              .delta = voxel,
                              .row_aspect = s->row_aspect,
                              .slice_aspect = s->slice_aspect,
                              .slice_offset = s->slice_offset,
                              .unmasked = 1};
}

/* MBIRJAX makes a voxel's footprint on a curved detector g f wide, where f is its width across the
 * ray and g = D/(d - y); the arc it covers is cos(phi) times that. So its A x exceeds the integrals
 * by 1/cos(phi), and equal results need the same excess. */
static void add_curved_excess(const struct scan *s, float *integrals)
{
    for (int64_t i = 0; s->curved && i < scan_samples(s); i++) {
        double n = (double)(i % s->channels) - (double)(s->channels - 1) / 2;
        double u = n * s->delta_channel - s->channel_offset;
        integrals[i] /= (float)cos(u / s->source_detector);
    }
}

/* How far A x is from the exact integrals: | A x - exact | / | exact |, and the scale that would
 * fit best, less 1. */
struct error {
    double distance, scale;
};

static struct error error_at(const char *backend, const struct setting *s, int64_t n)
{
    struct rig r;
    struct test_case c = case_of(s, n);
    rig_open(&r, backend, 1, &c);
    struct ellipsoid e[PHANTOM_MAX];
    int count = phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, &r.model.volume, e);
    float *x = floats(r.voxels), *exact = floats(r.samples);
    phantom_fill(e, count, &r.model.volume, x);
    phantom_project(e, count, &r.model.scan, exact);
    add_curved_excess(&r.model.scan, exact);
    float *y = rig_forward(&r, rig_inside(&r), x, SINO_CHANNELS_FASTEST);
    double *exact64 = widen(exact, r.samples);
    struct error found = {
        .distance = relative_l2(y, exact64, r.samples),
        .scale = dot(y, exact, r.samples) / dot(exact, exact, r.samples) - 1,
    };
    free(x);
    free(exact);
    free(exact64);
    free(y);
    rig_close(&r);
    return found;
}

/* Sampling at voxel centres misplaces the surface by a part of a voxel, so that the distance falls
 * as 1/N: measured 1.0/N (plain) to 1.5/N (flat voxels, so fewer of them), each doubling of N
 * halving it to between 0.45 and 0.59. The scale was within 0.3/N. An offset that is wrong by half
 * a cell makes the distance 0.021 at N = 128, where the limit is 0.013. */
static void projections_of_ellipsoids_converge(void **state)
{
    (void)state;
    struct worst distance = {.what = "N * distance to the integrals", .limit = 1.7};
    struct worst ratio = {.what = "distance at 2N over that at N", .limit = 0.65};
    struct worst scale = {.what = "N * error of scale", .limit = 0.5};
    for (int b = 0; harness_backend(b); b++)
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
            double coarser = 0;
            for (int64_t n = 16; n <= 128; n *= 2) {
                struct error e = error_at(harness_backend(b), &settings[i], n);
                print_message("%s %d: distance %.4f scale %+.5f\n", settings[i].name, (int)n,
                              e.distance, e.scale);
                worst_note(&distance, settings[i].name, (double)n * e.distance);
                worst_note(&scale, settings[i].name, (double)n * fabs(e.scale));
                if (coarser > 0)
                    worst_note(&ratio, settings[i].name, e.distance / coarser);
                coarser = e.distance;
            }
        }
    worst_check(&distance);
    worst_check(&ratio);
    worst_check(&scale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projections_of_ellipsoids_converge),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
