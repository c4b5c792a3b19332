/* links: tp_suite */
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "host/suite/bench/bench.h"

#define NEAR(a, b) assert_near(a, b, 1e-12 * fabs((double)(b)))

/* 2 s at a peak of 100 Gflop/s before and after, and a copy rate of 10 GB/s. */
static struct bench_row row_of(double seconds, double before, double after)
{
    struct bench_row row = {.operation = "parallel_back_project",
                            .size = 64,
                            .threads = 2,
                            .runs = 5,
                            .status = ROW_OK,
                            .unit = UNIT_UPDATES,
                            .amount = 1e9,
                            .min = seconds,
                            .median = 1.25 * seconds,
                            .spread = 0.01,
                            .rate = 1e9 / seconds,
                            .roof_share = 0.5,
                            .bound = BOUND_ARITHMETIC,
                            .work = {3e9, 1e8, 0},
                            .cycles_per_unit = (double)NAN,
                            .cycles_reason = "no counter",
                            .efficiency = 0.9,
                            .peak_bytes = 1e6,
                            .closed_form_bytes = 9e5};
    row.before = (struct calibration){{before * 1e9, 10e9}, 20e9, 0};
    row.after = (struct calibration){{after * 1e9, 10e9}, 20e9, 0};
    return row;
}

static void the_same_is_the_same(void **state)
{
    (void)state;
    struct bench_row row = row_of(2, 100, 100);
    struct bench_comparison c = bench_compare(&row, &row, 0.05);
    NEAR(c.ratio, 1);
    assert_int_equal(c.verdict, VERDICT_SAME);
    assert_near(bench_drift(&row), 0, 0);
}

static void the_tolerance_is_a_factor_both_ways(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        enum bench_verdict verdict;
    } cases[] = {
        {2.19, VERDICT_SAME}, {2.21, VERDICT_SLOWER}, {1.82, VERDICT_SAME}, {1.81, VERDICT_FASTER}};
    struct bench_row then = row_of(2, 100, 100);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_row now = row_of(cases[i].seconds, 100, 100);
        struct bench_comparison c = bench_compare(&now, &then, 0.1);
        NEAR(c.ratio, cases[i].seconds / 2);
        assert_int_equal(c.verdict, cases[i].verdict);
    }
}

static void a_slower_machine_is_no_slower_code(void **state)
{
    (void)state;
    struct bench_row then = row_of(2, 100, 100), now = row_of(4, 50, 50);
    struct bench_comparison c = bench_compare(&now, &then, 0.01);
    NEAR(c.ratio, 1);
    assert_int_equal(c.verdict, VERDICT_SAME);
    now = row_of(2, 50, 50); /* as fast on half the machine */
    assert_int_equal(bench_compare(&now, &then, 0.01).verdict, VERDICT_FASTER);
    NEAR(bench_compare(&now, &then, 0.01).ratio, 0.5);
}

static void the_peak_that_bounded_it_then_counts(void **state)
{
    (void)state;
    struct bench_row then = row_of(2, 100, 100), now = row_of(2, 50, 50);
    then.bound = BOUND_COPY; /* the copy rate has not changed, the better of its two is taken */
    NEAR(bench_compare(&now, &then, 0.01).ratio, 1);
    now.before.cached_bytes_per_s = now.after.cached_bytes_per_s = 5e9;
    NEAR(bench_compare(&now, &then, 0.01).ratio, 0.5);
}

static void a_change_in_between_is_told_from_a_change_of_the_code(void **state)
{
    (void)state;
    struct bench_row then = row_of(2, 100, 100), now = row_of(2, 100, 50);
    NEAR(bench_drift(&now), 0.5);
    assert_int_equal(bench_compare(&now, &then, 0.1).verdict, VERDICT_UNSTEADY);
    now = row_of(4, 100, 50); /* 2 or 1 times the cost */
    assert_int_equal(bench_compare(&now, &then, 0.1).verdict, VERDICT_UNSTEADY);
    now = row_of(4.5, 100, 50); /* 2.25 or 1.125: slower in any case */
    assert_int_equal(bench_compare(&now, &then, 0.1).verdict, VERDICT_SLOWER);
    now = row_of(1.8, 100, 50); /* 0.9 or 0.45 */
    assert_int_equal(bench_compare(&now, &then, 0.1).verdict, VERDICT_FASTER);
}

static void what_was_not_measured_is_unknown(void **state)
{
    (void)state;
    struct bench_row good = row_of(2, 100, 100), failed = good, blind = row_of(2, 0, 0);
    failed.status = ROW_FAILED;
    assert_int_equal(bench_compare(&failed, &good, 0.1).verdict, VERDICT_UNKNOWN);
    assert_int_equal(bench_compare(&good, &failed, 0.1).verdict, VERDICT_UNKNOWN);
    assert_int_equal(bench_compare(&blind, &good, 0.1).verdict, VERDICT_UNKNOWN);
    assert_true(isnan(bench_compare(&blind, &good, 0.1).ratio));
    assert_true(isnan(bench_drift(&blind)));
    good.bound = BOUND_UNKNOWN;
    assert_int_equal(bench_compare(&good, &good, 0.1).verdict, VERDICT_UNKNOWN);
}

static struct bench_results machine(void)
{
    struct bench_results r = {.timestamp = "2026-01-31T12:00:00Z", .repeat = 5, .seed = 42};
    strcpy(r.environment.backend, "cpu");
    strcpy(r.environment.isa, "avx512");
    strcpy(r.environment.cpu, "one");
    strcpy(r.environment.device, "one, 2 threads, avx512");
    r.environment.version = "1";
    r.environment.compiler = "gcc";
    r.environment.threads = 2;
    return r;
}

static void another_class_of_machine_is_refused(void **state)
{
    (void)state;
    struct bench_results here = machine(), file = machine();
    int other_cpu = -1;
    assert_ok(bench_same_class("f", &file, &here, &other_cpu));
    assert_int_equal(other_cpu, 0);
    strcpy(file.environment.cpu, "another");
    assert_ok(bench_same_class("f", &file, &here, &other_cpu));
    assert_int_equal(other_cpu, 1);
    file.environment.threads = 8;
    assert_error(bench_same_class("f", &file, &here, NULL), ERR_INPUT,
                 "f: measured on a machine of 8 threads, this has 2");
    strcpy(file.environment.isa, "avx2");
    assert_error(bench_same_class("f", &file, &here, NULL), ERR_INPUT,
                 "instruction set avx2, this is avx512");
    strcpy(file.environment.backend, "cuda");
    assert_error(bench_same_class("f", &file, &here, NULL), ERR_INPUT,
                 "back end cuda, this is cpu");
}

static char path[64];

static void save(const struct bench_results *r)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    bench_write(f, r);
    assert_int_equal(fclose(f), 0);
}

static void a_file_keeps_everything(void **state)
{
    (void)state;
    struct bench_results r = machine(), back = {0};
    struct bench_row rows[] = {row_of(2, 100, 90), row_of(1, 0, 0)};
    strcpy(rows[1].operation, "median_filter3d");
    rows[1].status = ROW_FAILED;
    strcpy(rows[1].reason, "killed");
    rows[1].bound = BOUND_UNKNOWN;
    r.rows = rows;
    r.count = 2;
    save(&r);
    assert_ok(bench_read(path, &back));
    assert_int_equal(back.count, 2);
    assert_string_equal(back.timestamp, r.timestamp);
    assert_ok(bench_same_class(path, &back, &r, NULL));
    const struct bench_row *a = bench_find(&back, "parallel_back_project", 64, 2), *b = &rows[0];
    assert_non_null(a);
    assert_int_equal(a->runs, 5);
    assert_int_equal(a->status, ROW_OK);
    assert_int_equal(a->unit, b->unit);
    assert_int_equal(a->bound, b->bound);
    assert_string_equal(a->cycles_reason, b->cycles_reason);
    NEAR(a->min, b->min);
    NEAR(a->median, b->median);
    NEAR(a->rate, b->rate);
    NEAR(a->work.flops, b->work.flops);
    NEAR(a->after.peak.flops_per_s, b->after.peak.flops_per_s);
    NEAR(a->before.cached_bytes_per_s, b->before.cached_bytes_per_s);
    assert_true(isnan(a->cycles_per_unit));
    a = bench_find(&back, "median_filter3d", 64, 2);
    assert_non_null(a);
    assert_int_equal(a->status, ROW_FAILED);
    assert_string_equal(a->reason, "killed");
    assert_true(isnan(a->min));
    assert_null(bench_find(&back, "median_filter3d", 65, 2));
    assert_null(bench_find(&back, "median_filter3d", 64, 1));
    assert_error(bench_read(path, &back), ERR_INPUT, "is there already");
    bench_free(&back);
}

static void wrong_files_are_named(void **state)
{
    (void)state;
    static const char head[] = "{\"schema\": \"tomoprof-bench/1\", \"environment\": {\"backend\": "
                               "\"cpu\", \"threads\": 2}, \"rows\": ";
    static const struct {
        int with_head;
        const char *rest, *phrase;
    } cases[] = {
        {0, "{", "not valid JSON"},
        {0, "[]", "of the schema \"\""},
        {0, "{\"schema\": \"tomoprof-timing/1\"}", "of the schema \"tomoprof-timing/1\""},
        {0, "{\"schema\": \"tomoprof-bench/2\"}", "not \"tomoprof-bench/1\""},
        {0, "{\"schema\": \"tomoprof-bench/1\"}", "no right \"environment\""},
        {1, "[]}", "no rows"},
        {1, "7}", "no rows"},
        {1, "[7]}", "rows[0]: no right \"operation\""},
        {1, "[{\"operation\": \"x\"}]}", "no right \"size\""},
        {1, "[{\"operation\": \"x\", \"size\": 1e300}]}", "no right \"size\""},
        {1, "[{\"operation\": \"x\", \"size\": 8, \"threads\": 1.5}]}", "no right \"threads\""},
        {1,
         "[{\"operation\": \"x\", \"size\": 8, \"threads\": 1, \"runs\": 1, \"status\": \"?\"}]}",
         "no right \"status\""},
        {1,
         "[{\"operation\": \"x\", \"size\": 8, \"threads\": 1, \"runs\": 1, \"status\": \"ok\", "
         "\"unit\": \"rows\", \"amount\": 1, \"min\": 0}]}",
         "no right \"min\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_results r = {0};
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "%s%s", cases[i].with_head ? head : "", cases[i].rest);
        fclose(f);
        assert_error(bench_read(path, &r), ERR_INPUT, cases[i].phrase);
        bench_free(&r);
    }
}

static void every_operation_has_a_unit_that_suits_it(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum bench_unit unit;
    } cases[] = {{"parallel_forward_project", UNIT_UPDATES},
                 {"cone_hessian_diagonal", UNIT_UPDATES},
                 {"ramp_filter_2048", UNIT_ROWS},
                 {"median_filter3d", UNIT_VOXELS},
                 {"rabbitct_fdk_recon", UNIT_VOXELS},
                 {"cone_vcd_iteration", UNIT_ITERATIONS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(bench_unit_of(bench_operation_named(cases[i].name)), cases[i].unit);
    for (int i = 0; bench_operation_at(i); i++)
        assert_true(strlen(bench_operation_at(i)->name) < sizeof((struct bench_row *)0)->operation);
}

static int make_path(void **state)
{
    (void)state;
    strcpy(path, "/tmp/tomoprof-bench-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 || close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_the_same),
        cmocka_unit_test(the_tolerance_is_a_factor_both_ways),
        cmocka_unit_test(a_slower_machine_is_no_slower_code),
        cmocka_unit_test(the_peak_that_bounded_it_then_counts),
        cmocka_unit_test(a_change_in_between_is_told_from_a_change_of_the_code),
        cmocka_unit_test(what_was_not_measured_is_unknown),
        cmocka_unit_test(another_class_of_machine_is_refused),
        cmocka_unit_test(a_file_keeps_everything),
        cmocka_unit_test(wrong_files_are_named),
        cmocka_unit_test(every_operation_has_a_unit_that_suits_it),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
