/* links: tp_fpga */
/* Number formats, their simulation in every primitive, and the table of bits. */
#include "profiler/fpga/hls/hls_export.h"
#include "profiler/fpga/width/width_case.h"
#include "profiler/fpga/width/width_sweep.h"
#include "profiler/triage/model/primitive.h"
#include "tests/unit/check.h"

static double rounded(struct number_format f, double v)
{
    struct number_faults faults = {0};
    return number_round(&f, v, &faults);
}

static void fixed_point_rounds_to_the_nearest_even_step(void **state)
{
    (void)state;
    const struct number_format q = number_fixed(8, 3); /* steps of 1/16 in [-8, 8) */
    assert_true(rounded(q, 0.03) == 0);
    assert_true(rounded(q, 1 / 32.0) == 0);
    assert_true(rounded(q, 3 / 32.0) == 2 / 16.0);
    assert_true(rounded(q, -5 / 32.0) == -2 / 16.0);
    assert_true(rounded(q, -8) == -8);
    assert_true(rounded(q, 7.9) == 7.875);
}

static void values_beyond_the_range_saturate_and_are_counted(void **state)
{
    (void)state;
    struct number_faults faults = {0};
    const struct number_format q = number_fixed(8, 3), half = number_float(16, 5);
    assert_true(number_round(&q, 100, &faults) == 7.9375);
    assert_true(number_round(&q, -(double)INFINITY, &faults) == -8);
    assert_true(number_round(&half, 1e9, &faults) == half.most);
    assert_int_equal(faults.saturated, 3);
    assert_int_equal(faults.invalid, 0);
}

static void nan_is_counted_and_never_becomes_a_number_of_a_float(void **state)
{
    (void)state;
    struct number_faults faults = {0};
    const struct number_format q = number_fixed(8, 3), half = number_float(16, 5),
                               block = number_block(8);
    const double in[2] = {(double)NAN, 1};
    double out[2];
    assert_true(number_round(&q, (double)NAN, &faults) == 0);
    assert_true(isnan(number_round(&half, (double)NAN, &faults)));
    number_round_all(&block, in, 2, out, &faults);
    assert_true(out[0] == 0 && out[1] == 1);
    assert_int_equal(faults.invalid, 3);
}

static void small_floats_round_as_ieee_does(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const double v = sin(i * 1.7) * pow(2, i % 60 - 30);
        assert_true(rounded(number_float(32, 8), v) == (double)(float)v);
    }
    assert_true(rounded(number_float(16, 5), 2049) == 2048); /* 11 significant bits, ties to even */
    assert_true(rounded(number_float(16, 5), 0x1p-24) == 0x1p-24);
    assert_true(rounded(number_float(16, 5), 0x1p-26) == 0);
    assert_true(rounded(number_float(16, 8), 1.00390625) == 1);
}

static void a_block_shares_the_exponent_of_its_largest(void **state)
{
    (void)state;
    struct number_faults faults = {0};
    const struct number_format block = number_block(8);
    double in[NUMBER_BLOCK_LENGTH + 1] = {100, 0.3}, out[NUMBER_BLOCK_LENGTH + 1];
    in[NUMBER_BLOCK_LENGTH] = 0.3;
    number_round_all(&block, in, NUMBER_BLOCK_LENGTH + 1, out, &faults);
    assert_true(out[0] == 100 && out[1] == 0); /* steps of 1 */
    assert_true(fabs(out[NUMBER_BLOCK_LENGTH] - 0.3) <= 0.5 * 0x1p-8);
    assert_int_equal(faults.saturated, 0);
}

/* Measures a primitive with `bits` in its stages (0: float64) against itself in float64. */
static struct width_quality quality_with(const struct width_primitive *p,
                                         const struct width_case *c, const int bits[WIDTH_STAGES])
{
    struct formats peaks = formats_wide();
    struct width_result exact, got;
    assert_ok(width_run(c, p, &peaks, &exact));
    struct formats f = width_formats(p, &peaks, bits);
    assert_ok(width_run(c, p, &f, &got));
    const struct width_quality q = {
        .own = width_rmse(got.own, exact.own, exact.own_length),
        .rmse = width_rmse(got.picture, exact.picture, exact.picture_length),
        .ssim = width_ssim(got.picture, exact.picture, c->n),
        .faults = f.faults};
    width_result_destroy(&exact);
    width_result_destroy(&got);
    return q;
}

static void float64_in_every_stage_gives_no_error(void **state)
{
    (void)state;
    struct width_case c;
    const int bits[WIDTH_STAGES] = {0};
    assert_ok(width_case_phantom(16, &c));
    for (int i = 0; width_primitive_at(i); i++) {
        const struct width_quality q = quality_with(width_primitive_at(i), &c, bits);
        assert_true(q.own == 0 && q.rmse == 0 && fabs(q.ssim - 1) < 1e-12);
        assert_true(q.faults.saturated == 0 && q.faults.invalid == 0);
    }
    width_case_destroy(&c);
}

/* Between widths 3 bits apart the error falls, by chance less than the 8 times of the steps; it may
 * not fall where the stage costs nothing any more, nor where nothing of the picture is left (above
 * a tenth of the range). */
static void error_falls_with_bits(void **state)
{
    (void)state;
    struct width_case c;
    static struct width_sweep s;
    assert_ok(width_case_phantom(16, &c));
    for (int i = 0; width_primitive_at(i); i++) {
        const struct width_primitive *p = width_primitive_at(i);
        assert_int_equal(width_sweep(p, &c, 1, (struct width_limits){WIDTH_RMSE, WIDTH_SSIM}, &s),
                         ERR_OK);
        assert_true(s.reached);
        for (int k = 0; k < WIDTH_STAGES; k++) {
            const struct width_quality *q = s.alone[0][k];
            assert_int_equal(s.bits[k] > 0, p->stages[k]);
            for (int b = WIDTH_FEWEST; p->stages[k] && b + 3 <= WIDTH_WIDEST; b++)
                assert_true(q[b + 3].own <= q[b].own || q[b].own > 0.1 || q[b].own < 1e-12);
            if (p->stages[k])
                assert_true(q[WIDTH_WIDEST].rmse < 1e-5);
        }
    }
    width_case_destroy(&c);
}

/* Cone beam: the part above the next row belongs to it. */
static void rows_under_a_voxel_share_all_of_it(void **state)
{
    struct width_case c;
    int two = 0;
    (void)state;
    assert_ok(width_case_phantom(16, &c));
    assert_null(c.parallel.rows);
    for (int i = 0; i < c.n * c.n * c.views; i++) {
        const double *rows = c.fan.rows + (ptrdiff_t)i * TWIN_ROWS;
        double sum = 0;
        for (int j = 0; j < TWIN_ROWS; j++)
            sum += rows[j];
        assert_true(fabs(sum - 1) < 1e-6);
        two += rows[0] > 0 && rows[1] > 0;
    }
    assert_true(two > c.n);
    width_case_destroy(&c);
}

static void the_table_keeps_the_quality_on_the_phantom_and_less_does_not(void **state)
{
    (void)state;
    const struct width_limits limits = {WIDTH_RMSE, WIDTH_SSIM};
    struct width_case c;
    assert_ok(width_case_phantom(WIDTH_SIZE, &c));
    for (int i = 0; width_primitive_at(i); i++) {
        const struct width_primitive *p = width_primitive_at(i);
        const struct width_needed *w = width_needed(p->name);
        int less[WIDTH_STAGES] = {0};
        assert_non_null(w);
        struct width_quality q = quality_with(p, &c, w->bits);
        assert_true(width_keeps(&q, limits));
        for (int k = 0; k < WIDTH_STAGES; k++) {
            assert_int_equal(w->bits[k] > 0, p->stages[k]);
            assert_int_equal(w->growth[k], p->growth[k]);
            less[k] = w->bits[k] > 3 ? w->bits[k] - 2 : w->bits[k];
        }
        q = quality_with(p, &c, less);
        assert_false(width_keeps(&q, limits));
    }
    width_case_destroy(&c);
}

static void the_table_knows_what_the_triage_asks(void **state)
{
    (void)state;
    for (int i = 0; width_primitive_at(i); i++) {
        const struct width_needed *w = width_needed(width_primitive_at(i)->name);
        assert_non_null(primitive_named(w->primitive));
        for (int k = 0; k < WIDTH_STAGES; k++) {
            const enum width_stage stage = (enum width_stage)k;
            assert_int_equal(width_bits_at(w, stage, 8), w->bits[k]);
            assert_int_equal(width_bits_at(w, stage, 1024),
                             w->bits[k] ? w->bits[k] + 4 * w->growth[k] : 0);
        }
    }
    assert_null(width_needed("gen_pixel_partition"));
    assert_null(width_needed(NULL));
}

static void equal_pictures_have_similarity_1_and_noise_less(void **state)
{
    (void)state;
    double a[256], b[256];
    for (int i = 0; i < 256; i++) {
        a[i] = sin(i * 0.3);
        b[i] = a[i] + 0.3 * cos(i * 17.0);
    }
    assert_true(width_rmse(a, a, 256) == 0 && fabs(width_ssim(a, a, 16) - 1) < 1e-12);
    assert_true(width_ssim(b, a, 16) < 0.99 && width_rmse(b, a, 256) > 0.05);
    a[5] = (double)NAN;
    const struct width_quality q = {.rmse = width_rmse(a, b, 256), .ssim = width_ssim(a, b, 16)};
    assert_false(width_keeps(&q, (struct width_limits){1, 0}));
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct width_case c;
    const double nothing[1] = {0};
    assert_int_equal(width_case_create(&c, "tiny", 4, 4, nothing, 0, nothing), ERR_INPUT);
    assert_int_equal(hls_export_write("mbir_prior_and_updates", &c, "/nowhere"), ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_point_rounds_to_the_nearest_even_step),
        cmocka_unit_test(values_beyond_the_range_saturate_and_are_counted),
        cmocka_unit_test(nan_is_counted_and_never_becomes_a_number_of_a_float),
        cmocka_unit_test(small_floats_round_as_ieee_does),
        cmocka_unit_test(a_block_shares_the_exponent_of_its_largest),
        cmocka_unit_test(float64_in_every_stage_gives_no_error),
        cmocka_unit_test(error_falls_with_bits),
        cmocka_unit_test(rows_under_a_voxel_share_all_of_it),
        cmocka_unit_test(the_table_keeps_the_quality_on_the_phantom_and_less_does_not),
        cmocka_unit_test(the_table_knows_what_the_triage_asks),
        cmocka_unit_test(equal_pictures_have_similarity_1_and_noise_less),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
