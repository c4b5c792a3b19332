/* links: tp_analyze */
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "base/file.h"
#include "profiler/analyze/model/model.h"

#define EXAMPLE TP_DATA "/profile/example.json"
#define SCHEMA  TP_DATA "/../../profiler/analyze/model/profile.schema.json"

static char path[] = "/tmp/test_profile.XXXXXX";

static void read_text(const char *name, char **text)
{
    size_t bytes;
    assert_ok(file_read_all(name, 1 << 24, text, &bytes));
}

static void write_text(const char *text)
{
    struct outfile f;
    assert_ok(outfile_open(&f, path));
    assert_ok(outfile_write(&f, text, strlen(text)));
    assert_ok(outfile_commit(&f));
}

static void the_schema_beside_the_writer_is_the_one_of_its_fields(void **state)
{
    (void)state;
    assert_ok(profile_schema_write(path));
    char *made, *kept;
    read_text(path, &made);
    read_text(SCHEMA, &kept);
    if (strcmp(made, kept) != 0)
        fail_msg("profile.schema.json is not that of model_fields.h: run TP_WRITE_SCHEMA=1 %s",
                 "test_profile");
    free(made);
    free(kept);
}

static void what_is_read_is_written_again(void **state)
{
    (void)state;
    struct model *m;
    assert_ok(profile_read(EXAMPLE, &m));
    assert_false(m->earlier); /* a new field is also in the example */
    assert_string_equal(m->files[0].path, "recon.py");
    assert_int_equal(m->files[0].lines[1].line, 8);
    assert_near(m->files[0].lines[1].cpu.user, 0.9, 0);
    assert_int_equal(m->stacks[0].parent, -1);
    assert_int_equal(m->kernels[0].variants[0].grid[0], 4096);
    assert_null(m->frames[0].file);
    assert_ok(profile_write(m, path));
    model_destroy(m);

    char *first, *second;
    read_text(path, &first);
    assert_ok(profile_read(path, &m));
    assert_ok(profile_write(m, path));
    model_destroy(m);
    read_text(path, &second);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void nothing_known_is_null_everywhere(void **state)
{
    (void)state;
    struct model *m;
    assert_ok(model_create(&m));
    assert_true(isnan(m->totals.cpu.user) && m->totals.kernels == MODEL_UNKNOWN);
    assert_ok(profile_write(m, path));
    model_destroy(m);
    char *text;
    read_text(path, &text);
    assert_non_null(strstr(text, "\"gpu_busy_s\":null"));
    assert_non_null(strstr(text, "\"kernels\":null"));
    assert_non_null(strstr(text, "\"files\":{}"));
    free(text);
}

/* The example with one text replaced is refused with a sentence that names what is wrong. */
static void replaced(const char *old, const char *new, const char *words)
{
    char *text;
    read_text(EXAMPLE, &text);
    assert_non_null(strstr(text, old));
    size_t at = (size_t)(strstr(text, old) - text), room = strlen(text) + strlen(new) + 1;
    char *changed = malloc(room);
    snprintf(changed, room, "%.*s%s%s", (int)at, text, new, text + at + strlen(old));
    write_text(changed);
    free(changed);
    free(text);
    struct model *m = NULL;
    assert_error(profile_read(path, &m), ERR_INPUT, words);
    assert_null(m);
}

static void wrong_profiles_are_refused(void **state)
{
    (void)state;
    replaced("tomoprof-profile/1", "tomoprof-profile/9", "tomoprof-profile/9");
    replaced("\"schema\":", "\"scheme\":", "has no key");
    replaced("\"totals\":", "\"total\":", "\"totals\" is missing");
    replaced("\"line\":8,", "\"line\":\"8\",", "\"line\" holds a value of another kind");
    replaced("\"line\":8,", "\"line\":1e300,", "\"line\" holds a value of another kind");
    replaced("\"function\":1,", "\"function\":77,", "point outside");
    replaced("\"parent\":[null,0,1", "\"parent\":[null,9,1", "point outside");
    replaced("\"parent\":[null,0,1", "\"parent\":[null,1", "differ in length");
    replaced("\"files\":{", "\"files\":7,\"x\":{", "\"files\" is not an object");
    replaced("\"length\":[400000000]", "\"length\":[null]", "have events without a time");
    replaced("\"start\":[1500000000]", "\"start\":[null]", "have events without a time");
    replaced("{\"kind\":\"wait\",\"process\"", "{\"kind\":null,\"process\"", "have no name");
    replaced("\"unattributed\":[{\"module\":\"libcuda.so.1\"", "\"unattributed\":[{\"module\":null",
             "have no name");
    replaced("{", "", "not a valid JSON");
}

static int set_up(void **state)
{
    (void)state;
    close(mkstemp(path));
    if (getenv("TP_WRITE_SCHEMA"))
        return profile_schema_write(SCHEMA) != ERR_OK;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_beside_the_writer_is_the_one_of_its_fields),
        cmocka_unit_test(what_is_read_is_written_again),
        cmocka_unit_test(nothing_known_is_null_everywhere),
        cmocka_unit_test(wrong_profiles_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
