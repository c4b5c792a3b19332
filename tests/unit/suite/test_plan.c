/* links: tp_suite */
#include <stdio.h>

#include "tests/unit/check.h"
#include "host/suite/run/plan.h"

static void the_default_is_everything(void **state)
{
    (void)state;
    struct run_plan p;
    assert_int_equal(plan_parse(NULL, NULL, NULL, 0, &p), ERR_OK);
    int rows = 0;
    for (int i = 0; operation_at(i); i++)
        rows += !operation_at(i)->apart;
    assert_int_equal(p.op_count, rows);
    assert_int_equal(p.size_count, 4);
    static const int64_t sizes[] = {32, 64, 128, 256};
    assert_memory_equal(p.sizes, sizes, sizeof sizes);
}

static void names_are_the_public_ones(void **state)
{
    (void)state;
    static const char *const names[] = {
        "parallel_forward_project", "parallel_back_project", "parallel_hessian_diagonal",
        "parallel_mbir_recon",      "parallel_fbp_recon",    "parallel_fbp_filter",
        "parallel_direct_recon",    "cone_forward_project",  "cone_back_project",
        "cone_hessian_diagonal",    "cone_mbir_recon",       "cone_fdk_recon",
        "cone_fdk_filter",          "cone_direct_recon",     "median_filter3d",
        "gen_pixel_partition"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(operation_named(names[i]));
        assert_string_equal(operation_at((int)i)->name, names[i]);
    }
    int n = 0;
    for (const struct operation *op; (op = operation_at(n)); n++)
        assert_int_equal(op->apart, !strcmp(op->group, "volume") || !strcmp(op->group, "storage") ||
                                        !strcmp(op->group, "prepare") ||
                                        !strcmp(op->group, "demos") ||
                                        !strcmp(op->group, "benchmark") ||
                                        !strcmp(op->geometry, "translation") ||
                                        !strcmp(op->geometry, "multiaxis"));
    assert_null(operation_at(n));
    assert_null(operation_at(-1));
    assert_null(operation_named("forward_project"));
}

static void every_row_is_complete(void **state)
{
    (void)state;
    const struct operation *op;
    for (int i = 0; (op = operation_at(i)); i++) {
        assert_non_null(op->group);
        assert_non_null(op->access_pattern);
        assert_true(strlen(op->help) <= 46); /* one line of --list */
        assert_non_null(op->run);
        assert_non_null(op->check);
        assert_non_null(op->work);
        assert_int_equal(op->prepare != NULL, op->input != ARRAY_NONE);
        assert_true(op->output != ARRAY_NONE || !strcmp(op->group, "storage"));
        if (strcmp(op->geometry, "any"))
            assert_int_equal(strncmp(op->name, op->geometry, strlen(op->geometry)), 0);
    }
}

static void a_group_has_its_operations_and_sizes(void **state)
{
    (void)state;
    struct run_plan p;
    assert_ok(plan_parse("volume", NULL, NULL, 0, &p));
    for (int i = 0; i < p.op_count; i++)
        assert_string_equal(p.ops[i]->group, "volume");
    assert_int_equal(p.op_count, 18);
    assert_int_equal(p.size_count, 5);
    assert_int_equal(p.shapes[2][0], 0);
    static const int64_t slab[3] = {512, 512, 30};
    assert_memory_equal(p.shapes[3], slab, sizeof slab);
    assert_int_equal(p.sizes[3], 199); /* 199^3 is nearest to 512 x 512 x 30 */
    char text[SHAPE_TEXT];
    shape_text(p.sizes[3], p.shapes[3], text);
    assert_string_equal(text, "512x512x30");
    assert_ok(plan_parse("volume", "*_nii*", "64", 1, &p));
    assert_int_equal(p.op_count, 6);
    assert_int_equal(p.size_count, 3);
    assert_int_equal(p.sizes[2], 1024);
    assert_ok(plan_parse("demos", NULL, NULL, 0, &p));
    assert_int_equal(p.op_count, 6);
    assert_int_equal(p.size_count, 1);
    assert_int_equal(p.sizes[0], 64);
    assert_ok(plan_parse(NULL, NULL, NULL, 0, &p));
    assert_int_equal(p.size_count, 4);
    assert_error(plan_parse("volumes", NULL, NULL, 0, &p), ERR_USAGE, "the group is not known");
    assert_error(plan_parse("volume", "cone_*", NULL, 0, &p), ERR_USAGE, "`ops` names none of it");
    assert_error(plan_parse("filter", NULL, "8x9x10", 0, &p), ERR_USAGE,
                 "8x9x10 are for the operations of `group=volume`");
    assert_error(plan_parse("volume", NULL, "8x9", 0, &p), ERR_USAGE,
                 "\"8x9\" is not a whole number");
}

static void lists_are_ordered_and_without_repeats(void **state)
{
    (void)state;
    struct run_plan p;
    assert_int_equal(
        plan_parse(NULL, "median_filter3d, cone_fdk_recon,cone_fdk_recon", " 64,32 ,64,5", 0, &p),
        ERR_OK);
    assert_int_equal(p.op_count, 2);
    assert_string_equal(p.ops[0]->name, "cone_fdk_recon");
    assert_string_equal(p.ops[1]->name, "median_filter3d");
    assert_int_equal(p.size_count, 3);
    assert_true(p.sizes[0] == 5 && p.sizes[1] == 32 && p.sizes[2] == 64);
}

static void stars_choose_several(void **state)
{
    (void)state;
    struct run_plan p;
    assert_int_equal(plan_parse(NULL, "cone_*", "32", 0, &p), ERR_OK);
    assert_int_equal(p.op_count, 17);
    assert_int_equal(plan_parse(NULL, "*_mbir_recon,gen_pixel*", "32", 0, &p), ERR_OK);
    assert_int_equal(p.op_count, 7);
    assert_int_equal(plan_parse(NULL, "translation_*,multiaxis_*", "32", 0, &p), ERR_OK);
    assert_int_equal(p.op_count, 18);
}

static void wrong_lists_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *ops, *sizes, *phrase;
    } cases[] = {
        {"cone_fdk_recom", "32", "did you mean cone_fdk_recon"},
        {"frobnicate_everything", "32", "run --list"},
        {"cone_fdk_recon,,median_filter3d", "32", "empty"},
        {"", "32", "empty"},
        {NULL, "32,x", "\"x\" is not a whole number"},
        {NULL, "32,", "\"\" is not a whole number"},
        {NULL, "0", "0 is outside 4..16384"},
        {NULL, "-32", "-32 is outside"},
        {NULL, "3", "3 is outside"},
        {NULL, "16385", "16385 is outside"},
        {NULL, "1099511627776", "1099511627776 is outside"},
        {NULL, "99999999999999999999", "is outside"},
        {NULL, "64.5", "\"64.5\" is not a whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_plan p;
        assert_error(plan_parse(NULL, cases[i].ops, cases[i].sizes, 0, &p), ERR_USAGE,
                     cases[i].phrase);
    }
}

static void too_many_sizes(void **state)
{
    (void)state;
    char list[1024] = "4";
    for (int n = 5; n < 5 + PLAN_SIZES; n++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ",%d", n);
    struct run_plan p;
    assert_error(plan_parse(NULL, NULL, list, 0, &p), ERR_USAGE, "more than 64 sizes");
}

static void benchmarks_run_when_they_are_named(void **state)
{
    (void)state;
    struct run_plan p;
    assert_ok(plan_parse("benchmark", NULL, NULL, 0, &p));
    assert_int_equal(p.op_count, 6);
    for (int i = 0; i < p.op_count; i++)
        assert_true(p.ops[i]->apart);
    assert_ok(plan_parse(NULL, "*_vcd_iteration", "47", 0, &p));
    assert_int_equal(p.op_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_everything),
        cmocka_unit_test(names_are_the_public_ones),
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(a_group_has_its_operations_and_sizes),
        cmocka_unit_test(lists_are_ordered_and_without_repeats),
        cmocka_unit_test(stars_choose_several),
        cmocka_unit_test(wrong_lists_are_named),
        cmocka_unit_test(too_many_sizes),
        cmocka_unit_test(benchmarks_run_when_they_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
