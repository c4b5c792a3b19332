/* links: tp_page */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/page/markup.h"

static void assert_written(void (*write)(FILE *out, const char *text), const char *text,
                           const char *expected)
{
    char *written = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&written, &n);
    assert_non_null(out);
    write(out, text);
    fclose(out);
    assert_string_equal(written, expected);
    free(written);
}

static void no_line_closes_the_fence(void **state)
{
    (void)state;
    assert_written(markdown_fenced, "a\n", "```\na\n```\n");
    assert_written(markdown_fenced, "`a`\n", "```\n`a`\n```\n");
    assert_written(markdown_fenced, "```\n# b\n", "````\n```\n# b\n````\n");
    assert_written(markdown_fenced, "/`````/x\n", "``````\n/`````/x\n``````\n");
    assert_written(markdown_fenced, "", "```\n```\n");
}

static void no_cell_is_a_formula(void **state)
{
    (void)state;
    assert_written(csv_text, "=1+1", "\"'=1+1\"");
    assert_written(csv_text, "@SUM(A1)", "\"'@SUM(A1)\"");
    assert_written(csv_text, "a=b, \"c\"", "\"a=b, \"\"c\"\"\"");
    assert_written(csv_text, "", "\"\"");
    assert_written(csv_text, NULL, "\"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_closes_the_fence),
        cmocka_unit_test(no_cell_is_a_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
