/* links: tp_operators */
/* How rows and slices go to the warps of the GPU's projections: all of them, each once, and what a
 * number of them costs by the instructions that were counted. */
#include "cuda/common/warp_partition.h"
#include "base/file.h"
#include "tests/operators/harness.h"

#define MOST 5000

/* Instructions of one turn of the inner loop, a pixel and view for all groups of a warp, by their
 * number: sm_90, 2 taps (parallel), 3 taps and one row a slice (cone); cuda/sass.py --walk. */
static const struct operation {
    const char *name;
    int turn[DEEPEST + 1];
} operations[] = {
    {"parallel back", {0, 14, 16, 20, 24, 29, 33, 37, 41, 45}},
    {"parallel forward", {0, 19, 25, 28, 30, 32, 35, 38, 41, 44}},
    {"cone back", {0, 82, 104, 124, 142, 172, 199, 213, 242, 253}},
    {"cone forward", {0, 79, 98, 116, 134, 160, 184, 196, 224, 233}},
};
#define OPERATIONS (int)(sizeof operations / sizeof *operations)

/* Per row. */
static double cost(const struct operation *o, int n)
{
    const struct warp_partition s = warp_partition_of(n);
    return (double)s.warps * (double)o->turn[s.depth] / (double)n;
}

static void every_row_has_one_warp(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const struct warp_partition s = warp_partition_of(n);
        int end = 0;
        assert_in_range(s.depth, 1, DEEPEST);
        assert_in_range(s.shorter, 0, s.warps - 1);
        for (int warp = 0; warp < s.warps; warp++) {
            const struct warp_range rows = warp_range_of(&s, warp, n);
            const int groups = (rows.end - rows.first + GROUP_ROWS - 1) / GROUP_ROWS;
            assert_int_equal(rows.first, end);
            assert_int_equal(groups, s.depth - (warp < s.shorter));
            /* Kernels ask for rows of the last group alone. */
            assert_true(warp + 1 == s.warps || (rows.end - rows.first) % GROUP_ROWS == 0);
            end = rows.end;
        }
        assert_int_equal(end, n);
    }
}

/* The worst of sizes from 160 on, against the next multiple of 16 above, and below: there, one row
 * more may take a warp or a strip of cells more. */
static void other_sizes_cost_little_more_than_multiples_of_16(void **state)
{
    (void)state;
    static const double below[OPERATIONS] = {1.285, 1.451, 1.356, 1.369};
    for (int i = 0; i < OPERATIONS; i++) {
        double above = 0, worst = 0;
        int at = 0;
        for (int n = 160; n <= MOST; n++) {
            const double one = cost(&operations[i], n),
                         over = one / cost(&operations[i], n / 16 * 16);
            above = fmax(above, one / cost(&operations[i], (n + 15) / 16 * 16));
            at = over > worst ? n : at;
            worst = fmax(worst, over);
        }
        print_message("%s: at most %.3f times the next multiple of 16, %.3f times the last (%d)\n",
                      operations[i].name, above, worst, at);
        assert_true(above <= 1.1);
        assert_true(worst <= below[i]);
        assert_int_equal(at, 289);
    }
}

/* docs/internals/cuda.md holds these rows. */
static void sizes_cost_what_the_document_says(void **state)
{
    (void)state;
    static const int sizes[] = {128, 129, 160, 161, 192, 193, 224,  225,  256,
                                257, 288, 289, 320, 512, 513, 1000, 1024, 1025};
    char *document = NULL;
    size_t bytes;
    assert_ok(file_read_all(TP_DATA "/../../docs/internals/cuda.md", 1 << 20, &document, &bytes));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct warp_partition s = warp_partition_of(sizes[i]);
        char line[120];
        int at = snprintf(line, sizeof line, "| %d | %d x %d |", sizes[i], s.warps, s.depth);
        for (int k = 0; k < OPERATIONS; k++)
            at += snprintf(line + at, sizeof line - (size_t)at, " %.2f |",
                           cost(&operations[k], sizes[i]) / cost(&operations[k], 256));
        print_message("%s\n", line);
        if (!strstr(document, line))
            fail_msg("docs/internals/cuda.md lacks the row of %d", sizes[i]);
    }
    free(document);
}

/* The operator tests' cases have every depth and up to three warps, unequal ones too. */
static void cases_have_every_depth(void **state)
{
    (void)state;
    static const char *const names[] = {"parallel rows", "cone rows", "cone slices"};
    int depths[3][DEEPEST + 1] = {0}, warps[3][4] = {0}, unequal[3] = {0};
    for (int i = 0; i < case_count; i++) {
        struct ct_model m;
        assert_ok(case_model(&cases[i], &m));
        for (int k = m.scan.beam == BEAM_CONE; k < (m.scan.beam == BEAM_CONE ? 3 : 1); k++) {
            const struct warp_partition s =
                warp_partition_of(k == 2 ? m.volume.slices : m.scan.rows);
            depths[k][s.depth]++;
            warps[k][s.warps < 4 ? s.warps : 0]++;
            unequal[k] += s.shorter > 0;
        }
        ct_model_free(&m);
    }
    for (int k = 0; k < 3; k++) {
        for (int depth = 1; depth <= DEEPEST; depth++)
            if (!depths[k][depth])
                fail_msg("%s: no case of cases.c has %d groups a warp", names[k], depth);
        for (int n = 1; n <= 3; n++)
            if (!warps[k][n])
                fail_msg("%s: no case of cases.c has %d warps", names[k], n);
        assert_true(unequal[k] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_one_warp),
        cmocka_unit_test(other_sizes_cost_little_more_than_multiples_of_16),
        cmocka_unit_test(sizes_cost_what_the_document_says),
        cmocka_unit_test(cases_have_every_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
