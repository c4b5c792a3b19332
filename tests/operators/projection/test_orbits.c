/* links: tp_operators */
/* Orbits of a cone beam's scan: which scans have them, and that they change no result. */
#include "host/cpu/common/projection.h"
#include "host/cpu/cone/orbit.h"
#include "tests/operators/harness.h"

#define CONE(v, m, n)                                                                              \
    .beam = BEAM_CONE, .views = v, .rows = m, .channels = n, .source_detector = 4 * n,             \
    .source_iso = 2 * n

static const struct orbit_case {
    struct test_case c;
    int members, turns, backward;
} orbit_cases[] = {
    {{"whole turn", CONE(16, 20, 20)}, 4, 4, 0},
    {{"whole turn, odd volume", CONE(12, 37, 21), .start = .3}, 4, 4, 0},
    {{"whole turn backwards", CONE(16, 20, 20), .extent = -2 * M_PI}, 4, 4, 1},
    {{"two views of four", CONE(8, 18, 20), .channel_offset = 1.3, .row_offset = -.6}, 4, 4, 0},
    {{"half a turn", CONE(14, 20, 22), .extent = M_PI}, 2, 4, 0},
    {{"half a turn backwards", CONE(14, 20, 22), .extent = -M_PI, .start = .1}, 2, 4, 1},
    {{"whole turn of 2 x odd views", CONE(14, 33, 20)}, 2, 2, 0},
    {{"rectangle", CONE(16, 20, 20), .shape = {17, 22, 19}, .unmasked = 1}, 2, 2, 0},
    {{"oblong pixels", CONE(16, 20, 20), .row_aspect = 1.2}, 2, 2, 0},
    {{"more than one row a slice", CONE(8, 60, 24), .delta = .7, .shape = {24, 24, 40}}, 4, 4, 0},
    {{"curved", CONE(16, 20, 20), .curved = 1}, 4, 4, 0},
    {{"odd number of views", CONE(15, 20, 20)}, 0, 0, 0},
    {{"part of a turn", CONE(16, 20, 20), .extent = 3.5}, 0, 0, 0},
    {{"helix", CONE(16, 20, 20), .z_first = -2, .z_last = 2}, 0, 0, 0},
    {{"thick slices", CONE(16, 60, 20), .slice_aspect = 3}, 0, 0, 0},
    {{"thick slices in corners alone", CONE(16, 60, 20), .slice_aspect = 1.62}, 0, 0, 0},
};
#define ORBIT_CASES (int)(sizeof orbit_cases / sizeof *orbit_cases)

static void scans_that_repeat_have_orbits(void **state)
{
    (void)state;
    for (int i = 0; i < ORBIT_CASES; i++) {
        const struct orbit_case *c = &orbit_cases[i];
        struct rig r;
        struct orbits o;
        rig_open(&r, "cpu", 1, &c->c);
        const struct pixel_set inside = rig_inside(&r);
        assert_ok(orbits_create(r.projector, &inside, &o));
        if (o.members != c->members || (o.members && o.turns != c->turns) ||
            o.backward != c->backward)
            fail_msg("%s: %d members, %d turns, backward %d; expected %d, %d, %d", c->c.name,
                     o.members, o.turns, o.backward, c->members, c->turns, c->backward);
        if (o.members)
            assert_int_equal(o.groups.set.count * o.turns + o.rest.count, inside.count);
        orbits_free(&o);
        rig_close(&r);
    }
}

static void orbits_change_no_result(void **state)
{
    (void)state;
    struct worst w = {.what = "projections by orbits against those pixel by pixel", .limit = 1e-6};
    for (int i = 0; i < ORBIT_CASES; i++) {
        struct rig r;
        rig_open(&r, "cpu", 1, &orbit_cases[i].c);
        struct pixel_set inside = rig_inside(&r), packed = inside;
        packed.packed = 1;
        float *x = random_floats(1, -1, 1, r.voxels), *few = rig_packed(&r, x);
        float *y = rig_forward(&r, inside, x, SINO_CHANNELS_FASTEST);
        float *alone = rig_forward(&r, packed, few, SINO_CHANNELS_FASTEST);
        double *expected = widen(alone, r.samples);
        assert_true(dot(y, y, r.samples) > 0);
        worst_note(&w, orbit_cases[i].c.name, relative_l2(y, expected, r.samples));
        for (int power = 1; power <= 2; power++) {
            float *all = rig_back(&r, inside, y, NULL, SINO_CHANNELS_FASTEST, power, x);
            float *of_all = rig_packed(&r, all);
            float *back = rig_back(&r, packed, y, NULL, SINO_CHANNELS_FASTEST, power, few);
            const int64_t n = r.inside_count * r.model.volume.slices;
            double *wide = widen(back, n);
            worst_note(&w, orbit_cases[i].c.name, relative_l2(of_all, wide, n));
            free(all);
            free(of_all);
            free(back);
            free(wide);
        }
        free(x);
        free(few);
        free(y);
        free(alone);
        free(expected);
        rig_close(&r);
    }
    worst_check(&w);
}

/* A thirtieth of the pixels inside left out, and pixels listed twice. */
static void sets_of_any_shape_are_projected_whole(void **state)
{
    (void)state;
    struct worst w = {.what = "sets without some pixels", .limit = 1e-6};
    for (int twice = 0; twice < 2; twice++) {
        struct rig r;
        struct orbits o;
        rig_open(&r, "cpu", 1, &orbit_cases[1].c);
        int32_t *list = calloc((size_t)r.inside_count, sizeof *list);
        assert_non_null(list);
        int64_t n = 0;
        for (int64_t q = 0; q < r.inside_count; q++)
            if (q % 30)
                list[n++] = r.inside[q];
        if (twice)
            list[n] = list[n - 1], n++;
        const struct pixel_set set = {list, n, 0}, packed = {list, n, 1};
        assert_ok(orbits_create(r.projector, &set, &o));
        assert_int_equal(o.members, twice ? 0 : 4);
        assert_true(twice || o.rest.count > 0);
        float *x = random_floats(1, -1, 1, r.voxels);
        const int64_t slices = r.model.volume.slices;
        float *few = floats(n * slices);
        for (int64_t q = 0; q < n; q++)
            memcpy(few + q * slices, x + list[q] * slices, (size_t)slices * sizeof *x);
        float *y = rig_forward(&r, set, x, SINO_CHANNELS_FASTEST);
        float *alone = rig_forward(&r, packed, few, SINO_CHANNELS_FASTEST);
        double *expected = widen(alone, r.samples);
        worst_note(&w, twice ? "twice" : "without", relative_l2(y, expected, r.samples));
        orbits_free(&o);
        free(list);
        free(x);
        free(few);
        free(y);
        free(alone);
        free(expected);
        rig_close(&r);
    }
    worst_check(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_that_repeat_have_orbits),
        cmocka_unit_test(orbits_change_no_result),
        cmocka_unit_test(sets_of_any_shape_are_projected_whole),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
