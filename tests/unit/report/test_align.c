/* links: tp_report */
#include <stdlib.h>

#include "tests/unit/check.h"
#include "profiler/report/compare/compare_parts.h"

#define MOST 40

/* A file of the given words, of which every other one cost something. */
static struct model_file file_of(const char *const *words, int n)
{
    static struct model_line lines[2][MOST];
    static struct model_source source[2][MOST];
    static int side;
    struct model_file f = {.length = n, .lines = lines[side], .source = source[side]};
    for (int i = 0; i < n; i++)
        if (i % 2)
            f.lines[f.lines_count++] = (struct model_line){.line = i + 1, .text = words[i]};
        else
            f.source[f.source_count++] = (struct model_source){i + 1, words[i]};
    side = !side;
    return f;
}

static int longest_common(const char *const *a, int n, const char *const *b, int m)
{
    int best[MOST + 1][MOST + 1] = {0};
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int up = best[i - 1][j], left = best[i][j - 1];
            best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : up > left ? up : left;
        }
    return best[n][m];
}

static void as_many_equal_lines_are_paired_as_can_be(void **state)
{
    (void)state;
    static const char *const words[] = {"", "x = 1", "}", "return"};
    unsigned seed = 5;
    for (int round = 0; round < 20000; round++) {
        const char *a[MOST], *b[MOST];
        int n = rand_r(&seed) % 13, m = rand_r(&seed) % 13, kinds = 1 + rand_r(&seed) % 4,
            pairs = 0;
        for (int i = 0; i < n; i++)
            a[i] = words[rand_r(&seed) % kinds];
        for (int i = 0; i < m; i++)
            b[i] = words[rand_r(&seed) % kinds];
        struct model_file before = file_of(a, n), after = file_of(b, m);
        struct align x;
        assert_ok(align_files(&before, &after, &x));
        assert_int_equal(x.by_text, n > 0 && m > 0);
        for (int i = 1, last = 0; i <= n && x.by_text; i++)
            if (x.to_b[i]) {
                assert_true(x.to_b[i] > last && x.to_b[i] <= m);
                last = x.to_b[i];
                assert_ptr_equal(a[i - 1], b[last - 1]);
                assert_int_equal(x.to_a[last], i);
                pairs++;
            }
        assert_true(!x.by_text || pairs == longest_common(a, n, b, m));
        align_free(&x);
    }
}

static void without_all_texts_numbers_pair_lines(void **state)
{
    (void)state;
    const char *words[] = {"a", "b", "c"};
    struct model_file before = file_of(words, 3), after = file_of(words, 3);
    after.source_count--; /* "c" is not known */
    struct align x;
    assert_ok(align_files(&before, &after, &x));
    assert_true(!x.by_text && x.to_b[1] == 1 && x.to_b[3] == 3);
    align_free(&x);
    assert_ok(align_files(NULL, &before, &x));
    assert_true(!x.by_text && x.length_a == 0 && x.length_b == 3 && x.to_a[1] == 0);
    align_free(&x);
}

static void very_different_files_are_edited_as_a_whole(void **state)
{
    (void)state;
    enum { N = 3000 };
    static struct model_source a[N], b[N];
    static char text[2 * N][8];
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "a%d", i);
        snprintf(text[N + i], sizeof text[i], "b%d", i);
        a[i] = (struct model_source){i + 1, text[i]};
        b[i] = (struct model_source){i + 1, i == 0 || i == N - 1 ? text[i] : text[N + i]};
    }
    struct model_file before = {.length = N, .source = a, .source_count = N};
    struct model_file after = {.length = N, .source = b, .source_count = N};
    struct align x;
    assert_ok(align_files(&before, &after, &x));
    assert_true(x.to_b[1] == 1 && x.to_b[N] == N);
    for (int i = 2; i < N; i++)
        assert_true(!x.to_b[i] && !x.to_a[i]);
    align_free(&x);
}

/* No file has so many lines: such a number is damage, and no place in a table. */
static void lines_beyond_all_files_are_left_out(void **state)
{
    (void)state;
    static const int64_t numbers[] = {20000000, (int64_t)1 << 32, (int64_t)1 << 40,
                                      ((int64_t)1 << 53) - 1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct model_line lines[] = {{.line = 2, .text = "x"}, {.line = numbers[i], .text = "y"}};
        struct model_file f = {.length = 2, .lines = lines, .lines_count = 2};
        struct align x;
        assert_ok(align_files(&f, &f, &x));
        assert_int_equal(x.length_a, 2);
        assert_int_equal(x.to_b[2], 2);
        align_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_beyond_all_files_are_left_out),
        cmocka_unit_test(as_many_equal_lines_are_paired_as_can_be),
        cmocka_unit_test(without_all_texts_numbers_pair_lines),
        cmocka_unit_test(very_different_files_are_edited_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
