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

static void markup_all(FILE *out, const char *text)
{
    markup_text(out, text, MARKUP_ALL);
}

static void markup_three(FILE *out, const char *text)
{
    markup_text(out, text, 3);
}

/* Colours, marks of direction, and bytes that are not text; a page's source and Markdown are read on terminals. */
static void no_file_acts_on_a_terminal(void **state)
{
    (void)state;
    assert_written(markup_all, "a\n<\u202e\xc2\x9b\xff\033[2J\u00e9",
                   "a &lt;\\u202e\\u009b\\xff [2J\u00e9");
    assert_written(markup_three, "\u00e9\u202e<b", "\u00e9\\u202e&lt;");
    assert_written(markdown_text, "a\n*\u202e\xc2\x9b\xff\033[", "a \\*\\u202e\\u009b\\xff \\[");
    assert_written(markdown_fenced, "a\tb\n\u202e\033[2J\u00e9\n",
                   "```\na\tb\n\\u202e\\x1b[2J\u00e9\n```\n");
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
        cmocka_unit_test(no_file_acts_on_a_terminal),
        cmocka_unit_test(no_cell_is_a_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
