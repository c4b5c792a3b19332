/* links: tp_suite */
/* Targets of speed: what passes, what is missed, what cannot be known; files that are refused. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "host/suite/statistics/targets.h"
#include "tests/unit/check.h"

#define FILE_NAME "test_targets.json"

static enum err read_text(const char *text, struct targets *t)
{
    FILE *f = fopen(FILE_NAME, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    const enum err e = targets_read(FILE_NAME, t);
    unlink(FILE_NAME);
    return e;
}

#define ONE(rest) "{\"schema\": \"tomoprof-targets/1\", \"targets\": [{" rest "}]}"

/* 1 GB in, 2 GB out in half a second, where a copy reaches 12 GB/s. */
static const struct target_row row = {.operation = "volume_flip",
                                      .shape = "256",
                                      .size = 256,
                                      .seconds = 0.5,
                                      .bytes_in = 1e9,
                                      .bytes_out = 2e9,
                                      .bytes_moved = 3e9,
                                      .copy_bytes_per_s = 12e9};

static void limits_are_compared(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
        enum target_verdict verdict;
    } rows[] = {
        {ONE("\"operation\": \"volume_*\", \"measure\": \"input_mb_per_s\", \"at_least\": 2000"),
         2000, TARGET_PASSED},
        {ONE("\"operation\": \"volume_flip\", \"measure\": \"input_mb_per_s\", \"at_least\": 2001"),
         2000, TARGET_MISSED},
        {ONE("\"operation\": \"*\", \"measure\": \"output_mb_per_s\", \"at_least\": 3999"), 4000,
         TARGET_PASSED},
        {ONE("\"operation\": \"*\", \"measure\": \"copy_share\", \"at_least\": 0.51"), 0.5,
         TARGET_MISSED},
        {ONE("\"operation\": \"*\", \"measure\": \"milliseconds\", \"at_most\": 501"), 500,
         TARGET_PASSED},
        {ONE("\"operation\": \"*\", \"measure\": \"milliseconds\", \"at_most\": 499"), 500,
         TARGET_MISSED},
        {ONE("\"operation\": \"*\", \"measure\": \"milliseconds\", \"at_most\": 1, \"from_size\": "
             "257"),
         NAN, TARGET_ELSEWHERE},
        {ONE("\"operation\": \"volume_fli\", \"measure\": \"milliseconds\", \"at_most\": 1"), NAN,
         TARGET_ELSEWHERE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct targets t;
        struct target_value value;
        assert_ok(read_text(rows[i].text, &t));
        assert_int_equal(t.targets_count, 1);
        assert_int_equal(target_judge(&t.targets[0], &row, &value), rows[i].verdict);
        if (isnan(rows[i].value))
            assert_true(isnan(value.value));
        else
            assert_near(value.value, rows[i].value, 1e-9);
        targets_free(&t);
    }
}

static void what_was_not_measured_passes_nothing(void **state)
{
    (void)state;
    struct targets t;
    struct target_value value;
    assert_ok(
        read_text(ONE("\"operation\": \"*\", \"measure\": \"copy_share\", \"at_least\": 0.1"), &t));
    struct target_row r = row;
    r.reason = "skipped: needs 9 GiB";
    assert_int_equal(target_judge(&t.targets[0], &r, &value), TARGET_UNKNOWN);
    r = row;
    r.copy_bytes_per_s = NAN;
    assert_int_equal(target_judge(&t.targets[0], &r, &value), TARGET_UNKNOWN);
    r = row;
    r.implausible = 1;
    assert_int_equal(target_judge(&t.targets[0], &r, &value), TARGET_MISSED);
    const struct target_row all[] = {row, r};
    const struct targets_count count = targets_print(&t, all, 2);
    assert_int_equal(count.passed, 1);
    assert_int_equal(count.missed, 1);
    targets_free(&t);
}

/* Half a copy's rate, measured in pairs: the whole interval decides, not what lies within. */
static void intervals_are_compared(void **state)
{
    (void)state;
    static const struct {
        const char *measure;
        double at_least, low, high;
        enum target_verdict verdict;
    } rows[] = {
        {"copy_share", 0.4, 0.8, 1.2, TARGET_PASSED},
        {"copy_share", 0.61, 0.8, 1.2, TARGET_MISSED},
        {"copy_share", 0.5, 0.8, 1.2, TARGET_UNDECIDED},
        {"copy_share", 0.5, 0, INFINITY, TARGET_UNDECIDED},
        {"output_copy_share", 0.5, 0.8, 1.2, TARGET_PASSED}, /* 4 of 6 GB: 0.53 to 0.8 */
        {"output_copy_share", 0.9, 0.8, 1.2, TARGET_MISSED},
        {"input_mb_per_s", 2000, 0.1, 0.2, TARGET_PASSED}, /* pairs are not about it */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct speed_target one = {.operation = "*",
                                   .measure = rows[i].measure,
                                   .at_least = rows[i].at_least,
                                   .at_most = NAN};
        const struct targets t = {.targets = &one, .targets_count = 1};
        struct target_row r = row;
        struct target_value value;
        r.pairs = (struct pair_share){20, 1, rows[i].low, rows[i].high};
        r.pair_bytes = 6e9;
        assert_int_equal(target_judge(&one, &r, &value), rows[i].verdict);
        assert_int_equal(targets_open(&t, &r), rows[i].verdict == TARGET_UNDECIDED);
        assert_int_equal(targets_ask_pairs(&t, &r), strcmp(rows[i].measure, "input_mb_per_s") != 0);
        r.implausible = 1;
        assert_int_equal(target_judge(&one, &r, &value), TARGET_MISSED);
    }
}

/* An undecided target is not missed, and does not pass either. */
static void undecided_is_said(void **state)
{
    (void)state;
    struct speed_target one = {
        .operation = "*", .measure = "copy_share", .at_least = 0.5, .at_most = NAN};
    const struct targets t = {.targets = &one, .targets_count = 1};
    struct target_row r = row;
    r.pairs = (struct pair_share){20, 1, 0.8, 1.2};
    r.pair_bytes = 6e9;
    struct targets_count count = targets_print(&t, &r, 1);
    assert_int_equal(count.undecided, 1);
    assert_int_equal(count.passed + count.missed + count.unknown, 0);
    assert_ok(targets_conclude(&t, &count, "g.json", "it"));
    count.missed = 1;
    assert_error(targets_conclude(&t, &count, "g.json", "it"), ERR_FAILED, "1 of 2 targets missed");
    count = (struct targets_count){0, 0, 0, 0};
    assert_error(targets_conclude(&t, &count, "g.json", "it"), ERR_FAILED,
                 "none of the 1 targets of g.json is about it");
}

static void files_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } rows[] = {
        {"[]", "is not a JSON object"},
        {"{\"schema\": \"x\", \"targets\": []}", "known is tomoprof-targets/1"},
        {"{\"schema\": \"tomoprof-targets/1\", \"targets\": []}", "holds no targets"},
        {ONE("\"operation\": \"a\""), "no measure"},
        {ONE("\"operation\": \"a\", \"measure\": \"fps\", \"at_least\": 1"), "\"fps\""},
        {ONE("\"operation\": \"a\", \"measure\": \"copy_share\""), "either at_least or at_most"},
        {ONE("\"operation\": \"a\", \"measure\": \"copy_share\", \"at_least\": 1, \"at_most\": 2"),
         "either at_least or at_most"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct targets t;
        assert_error(read_text(rows[i].text, &t), ERR_INPUT, rows[i].sentence);
    }
}

static void the_shipped_file_is_valid(void **state)
{
    (void)state;
    struct targets t;
    assert_ok(targets_read(TARGETS_SHIPPED, &t));
    assert_true(t.targets_count >= 10);
    for (int i = 0; i < t.targets_count; i++)
        assert_non_null(t.targets[i].source);
    targets_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_compared),
        cmocka_unit_test(what_was_not_measured_passes_nothing),
        cmocka_unit_test(intervals_are_compared),
        cmocka_unit_test(undecided_is_said),
        cmocka_unit_test(files_are_checked),
        cmocka_unit_test(the_shipped_file_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
