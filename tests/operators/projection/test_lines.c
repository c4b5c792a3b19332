/* links: tp_operators */
/* Few slices of parallel beams: lines change no result, and parts of a volume have the bits of the
 * whole. */
#include "host/cpu/common/projection.h"
#include "host/cpu/parallel/lines.h"
#include "host/recon/slabs/slab.h"
#include "tests/operators/harness.h"

#define PAR(v, m, n) .beam = BEAM_PARALLEL, .views = v, .rows = m, .channels = n
#define TURN         .extent = 2 * M_PI

static const struct line_case {
    struct test_case c;
    int fits;
} line_cases[] = {
    {{"one slice", PAR(30, 1, 50), TURN}, 1},
    {{"one slice, odd", PAR(17, 1, 37), TURN, .start = .1, .channel_offset = .4}, 1},
    {{"eighths of a turn", PAR(8, 1, 40), TURN}, 1},
    {{"backwards", PAR(19, 2, 33), .extent = -M_PI}, 1},
    {{"seven slices", PAR(23, 7, 45), TURN}, 1},
    {{"11 slices", PAR(12, 11, 24), TURN}, 1},
    {{"12 slices", PAR(12, 12, 24), TURN}, 0},
    {{"rectangle", PAR(21, 3, 34), TURN, .shape = {19, 41, 3}, .unmasked = 1}, 1},
    {{"oblong pixels", PAR(21, 2, 34), TURN, .row_aspect = .9}, 1},
    {{"flat pixels", PAR(21, 2, 34), TURN, .row_aspect = .3}, 0},
    {{"small pixels", PAR(21, 2, 34), TURN, .delta = .8, .shape = {40, 40, 2}}, 1},
    {{"smaller pixels", PAR(21, 2, 34), TURN, .delta = .6, .shape = {40, 40, 2}}, 0},
    {{"large pixels", PAR(21, 2, 34), TURN, .delta = 1.3}, 0},
    {{"detector of a part", PAR(25, 1, 20), TURN, .shape = {70, 61, 1}, .unmasked = 1}, 1},
    {{"large detector", PAR(25, 2, 180), TURN, .shape = {33, 30, 2}}, 1},
    {{"beside the detector", PAR(9, 1, 30), TURN, .channel_offset = 25}, 1},
    {{"far from the detector", PAR(9, 1, 30), TURN, .channel_offset = 1e12}, 1},
    {{"one view", PAR(1, 1, 30), .start = 2}, 1},
};
#define LINE_CASES (int)(sizeof line_cases / sizeof *line_cases)

/* Only a set of vectors of 16 has them. */
static int lines_there(void)
{
    return cpu_isa() == ISA_AVX512;
}

static void volumes_of_few_slices_have_lines(void **state)
{
    (void)state;
    for (int i = 0; i < LINE_CASES; i++) {
        struct rig r;
        rig_open(&r, "cpu", 1, &line_cases[i].c);
        const int fits =
            lines_fit(r.projector, &(struct pixel_set){r.inside, r.inside_count, 0}, 1);
        if (fits != (line_cases[i].fits && lines_there()))
            fail_msg("%s: lines %d", line_cases[i].c.name, fits);
        rig_close(&r);
    }
}

static void lines_change_no_result(void **state)
{
    (void)state;
    struct worst w = {.what = "projections by lines against those pixel by pixel", .limit = 1e-6};
    for (int i = 0; i < LINE_CASES; i++)
        for (int order = 0; order < 2; order++) {
            struct rig r;
            rig_open(&r, "cpu", 1 + i % 3, &line_cases[i].c);
            const enum sino_order o = order ? SINO_ROWS_FASTEST : SINO_CHANNELS_FASTEST;
            struct pixel_set inside = rig_inside(&r), packed = inside;
            packed.packed = 1;
            const int64_t n = r.inside_count * r.model.volume.slices;
            float *x = random_floats(1, -1, 1, r.voxels), *few = rig_packed(&r, x);
            float *y = rig_forward(&r, inside, x, o), *alone = rig_forward(&r, packed, few, o);
            float *weights = random_floats(3, .5, 1.5, r.samples);
            float *sinogram = random_floats(2, 0, 1, r.samples);
            float *all = rig_back(&r, inside, sinogram, order ? weights : NULL, o, 1, x);
            float *back = rig_back(&r, packed, sinogram, order ? weights : NULL, o, 1, few);
            float *of_all = rig_packed(&r, all);
            double *expected = widen(alone, r.samples), *wide = widen(back, n);
            worst_note(&w, line_cases[i].c.name, relative_l2(y, expected, r.samples));
            worst_note(&w, line_cases[i].c.name, relative_l2(of_all, wide, n));
            free(x), free(few), free(y), free(alone), free(weights), free(sinogram);
            free(all), free(back), free(of_all), free(expected), free(wide);
            rig_close(&r);
        }
    worst_check(&w);
}

/* Some pixels left out, and one listed twice. */
static void sets_of_any_shape_have_their_own_result(void **state)
{
    (void)state;
    struct worst w = {.what = "sets without some pixels", .limit = 1e-6};
    struct rig r;
    rig_open(&r, "cpu", 1, &line_cases[4].c);
    const int64_t slices = r.model.volume.slices;
    for (int twice = 0; twice < 2; twice++) {
        int32_t *list = calloc((size_t)r.inside_count + 1, sizeof *list);
        int64_t n = 0;
        assert_non_null(list);
        for (int64_t q = 0; q < r.inside_count; q++)
            if (q % 3)
                list[n++] = r.inside[q];
        if (twice)
            list[n] = list[n - 1], n++;
        const struct pixel_set set = {list, n, 0}, packed = {list, n, 1};
        assert_int_equal(lines_fit(r.projector, &set, 1), !twice && lines_there());
        float *x = random_floats(1, -1, 1, r.voxels), *few = floats(n * slices);
        for (int64_t q = 0; q < n; q++)
            memcpy(few + q * slices, x + list[q] * slices, (size_t)slices * sizeof *x);
        float *y = rig_forward(&r, set, x, SINO_CHANNELS_FASTEST);
        float *alone = rig_forward(&r, packed, few, SINO_CHANNELS_FASTEST);
        double *expected = widen(alone, r.samples);
        worst_note(&w, twice ? "twice" : "without", relative_l2(y, expected, r.samples));
        float *back = rig_back(&r, set, y, NULL, SINO_CHANNELS_FASTEST, 1, x);
        for (int64_t pixel = 0, q = 0; pixel < r.pixels; pixel++)
            if (q < n && list[q] == pixel)
                q += 1 + (q + 1 < n && list[q + 1] == pixel);
            else
                assert_memory_equal(back + pixel * slices, x + pixel * slices,
                                    (size_t)slices * sizeof *x);
        free(list), free(x), free(few), free(y), free(alone), free(expected), free(back);
    }
    rig_close(&r);
    worst_check(&w);
}

/* Slices [first, first + count) of `from` [lines][slices]. */
static float *part_of(const float *from, int64_t lines, int64_t slices, int64_t first,
                      int64_t count)
{
    float *part = floats(lines * count);
    for (int64_t i = 0; i < lines; i++)
        memcpy(part + i * count, from + i * slices + first, (size_t)count * sizeof *part);
    return part;
}

static void parts_of_a_volume_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 2, 6}, count[] = {2, 4, 1};
    struct rig r;
    rig_open(&r, "cpu", 1, &line_cases[4].c); /* seven slices */
    const int64_t slices = r.model.volume.slices, lines = r.samples / slices;
    const struct pixel_set inside = rig_inside(&r);
    struct projector *whole = r.projector;
    float *x = random_floats(1, -1, 1, r.voxels), *y = random_floats(2, 0, 1, r.samples);
    float *Ax = rig_forward(&r, inside, x, SINO_ROWS_FASTEST);
    float *Ay = rig_back(&r, inside, y, NULL, SINO_ROWS_FASTEST, 1, x);
    for (int i = 0; i < 3; i++) {
        const struct index_range views = {0, r.model.scan.views}, some = {first[i], count[i]};
        const struct ct_model all = r.model;
        r.model = tile_model(&all, views, some, some);
        r.voxels = volume_voxels(&r.model.volume);
        r.samples = scan_samples(&r.model.scan);
        assert_ok(r.be->ops->projector_create(r.be, &r.model.scan, &r.model.volume, &r.projector));
        float *px = part_of(x, r.pixels, slices, first[i], count[i]);
        float *py = part_of(y, lines, slices, first[i], count[i]);
        float *expected_x = part_of(Ay, r.pixels, slices, first[i], count[i]);
        float *expected_y = part_of(Ax, lines, slices, first[i], count[i]);
        float *found_y = rig_forward(&r, inside, px, SINO_ROWS_FASTEST);
        float *found_x = rig_back(&r, inside, py, NULL, SINO_ROWS_FASTEST, 1, px);
        assert_memory_equal(found_y, expected_y, (size_t)r.samples * sizeof *y);
        assert_memory_equal(found_x, expected_x, (size_t)r.voxels * sizeof *x);
        r.be->ops->projector_free(r.be, r.projector);
        r.model = all;
        free(px), free(py), free(expected_x), free(expected_y), free(found_x), free(found_y);
    }
    r.projector = whole;
    free(x), free(y), free(Ax), free(Ay);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_of_few_slices_have_lines),
        cmocka_unit_test(lines_change_no_result),
        cmocka_unit_test(sets_of_any_shape_have_their_own_result),
        cmocka_unit_test(parts_of_a_volume_have_the_bits_of_the_whole),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
