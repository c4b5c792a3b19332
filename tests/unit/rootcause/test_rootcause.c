/* links: tp_rootcause */
/* rootcause.json's schema beside its writer, the order of rows, and texts that are not Markdown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rootcause/rootcause.h"
#include "tests/unit/check.h"

#define SCHEMA TP_DATA "/../../base/rootcause/rootcause.schema.json"

static char folder[] = "/tmp/tomoprof-rootcause.XXXXXX", path[64];

static void the_schema_is_that_of_the_fields(void **state)
{
    (void)state;
    char *made, *kept;
    size_t bytes;
    snprintf(path, sizeof path, "%s/schema.json", folder);
    assert_ok(rootcause_schema_write(path));
    assert_ok(file_read_all(path, 1 << 20, &made, &bytes));
    assert_ok(file_read_all(SCHEMA, 1 << 20, &kept, &bytes));
    if (strcmp(made, kept) != 0)
        fail_msg("rootcause.schema.json differs from rootcause_fields.h: run TP_WRITE_SCHEMA=1 %s",
                 "test_rootcause");
    unlink(path);
    free(made);
    free(kept);
}

static struct rootcause *made(void)
{
    static const double gains[] = {1, 8, (double)NAN};
    static const char *const names[] = {"small", "large", "unknown"};
    struct rootcause *r;
    assert_ok(rootcause_create(&r));
    r->subject = "read|_*.py";
    r->summary = "<img src=x>";
    r->number_name = "time";
    r->number = 2.5;
    r->number_unit = "s";
    for (int i = 0; i < 3; i++) {
        struct rootcause_cause *c = rootcause_cause(r);
        c->rule = c->statement = c->evidence = c->refuted_by = names[i];
        c->gain_high_s = gains[i];
        c->gain_low_s = 0;
        rootcause_action(r, c, names[i], i ? 5 : 0.1);
    }
    rootcause_number(r, "seen", 3, "MiB", NULL);
    rootcause_number(r, "unseen", (double)NAN, "MiB", "the system does not tell");
    rootcause_check(r, "memory", "holds", "1 MiB");
    rootcause_check(r, "values", "unknown", "compare them");
    rootcause_question(r, "how often?");
    rootcause_rank(r);
    return r;
}

static void causes_go_by_gain_and_actions_by_gain_over_effort(void **state)
{
    (void)state;
    struct rootcause *r = made();
    assert_string_equal(r->causes[0].rule, "large");
    assert_string_equal(r->causes[2].rule, "unknown");
    assert_string_equal(r->actions[0].text, "small"); /* 0.5 s / 0.1 d before 4 s / 5 d */
    assert_string_equal(r->actions[2].text, "unknown");
    rootcause_free(r);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    struct rootcause *r = made(), *again;
    char *text;
    size_t bytes;
    assert_ok(rootcause_read(folder, &again));
    assert_null(again);
    assert_ok(rootcause_write(r, folder));
    assert_ok(rootcause_read(folder, &again));
    assert_non_null(again);
    assert_int_equal(again->causes_count, 3);
    assert_true(isnan(again->evidence[1].value) && isnan(again->actions[0].measured_s));
    assert_string_equal(again->summary, "<img src=x>");
    snprintf(path, sizeof path, "%s/rootcause.md", folder);
    assert_ok(file_read_all(path, 1 << 20, &text, &bytes));
    const char *const parts[] = {"# Root causes: read\\|\\_\\*.py\n",
                                 "> **time: 2.5 s**",
                                 "\\<img src=x\\>",
                                 "| unseen | not measured | the system does not tell |",
                                 "| small | small | a setting | 0 to 1 s | not yet |",
                                 "- [x] memory: 1 MiB",
                                 "- [ ] values: compare them",
                                 "1. how often?"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("rootcause.md has no \"%s\":\n%s", parts[i], text);
    free(text);
    unlink(path);
    snprintf(path, sizeof path, "%s/rootcause.json", folder);
    FILE *f = fopen(path, "w");
    fputs("{\"schema\": \"tomoprof-rootcause/9\"}", f);
    fclose(f);
    struct rootcause *none;
    assert_int_equal(rootcause_read(folder, &none), ERR_INPUT);
    assert_null(none);
    again->causes[0].rule = NULL;
    assert_ok(rootcause_write(again, folder));
    assert_int_equal(rootcause_read(folder, &none), ERR_INPUT);
    assert_null(none);
    snprintf(path, sizeof path, "%s/rootcause.md", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/rootcause.json", folder);
    unlink(path);
    rootcause_free(again);
    rootcause_free(r);
}

static int set_up(void **state)
{
    (void)state;
    if (getenv("TP_WRITE_SCHEMA") && rootcause_schema_write(SCHEMA) != ERR_OK)
        return 1;
    return !mkdtemp(folder);
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_is_that_of_the_fields),
        cmocka_unit_test(causes_go_by_gain_and_actions_by_gain_over_effort),
        cmocka_unit_test(what_is_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
