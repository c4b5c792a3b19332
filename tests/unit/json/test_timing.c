/* links: tp_timing */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/timing/timing.h"
#include "tests/unit/check.h"

#define SCHEMA TP_DATA "/../../base/timing/timing.schema.json"

static const cJSON *item(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* A schema, or what its $ref points to. */
static const cJSON *followed(const cJSON *root, const cJSON *schema)
{
    const char *reference = cJSON_GetStringValue(item(schema, "$ref"));
    return reference ? item(item(root, "$defs"), reference + strlen("#/$defs/")) : schema;
}

static int allows(const cJSON *schema, const char *type)
{
    const cJSON *types = item(schema, "type"), *one;
    if (item(schema, "enum") || item(schema, "const"))
        return 1;
    if (cJSON_IsString(types))
        return !strcmp(types->valuestring, type);
    cJSON_ArrayForEach (one, types)
        if (!strcmp(one->valuestring, type))
            return 1;
    return 0;
}

/* The same keys in the same order, all of them but the extra ones required, and values of the
 * table's kinds. */
static void assert_same(const cJSON *root, const cJSON *schema, const struct json_record *type)
{
    static const char *const types[] = {
        [JSON_TEXT] = "string",  [JSON_REAL] = "number", [JSON_INT] = "integer",
        [JSON_FLAG] = "boolean", [JSON_ONE] = "object",  [JSON_MAYBE] = "object",
        [JSON_LIST] = "array",   [JSON_WORDS] = "array", [JSON_COUNTS] = "array"};
    const cJSON *property = item(schema, "properties"), *required = item(schema, "required");
    property = property ? property->child : NULL;
    required = required ? required->child : NULL;
    for (int i = 0; i < type->count; i++) {
        const struct json_field *f = &type->fields()[i];
        if (f->kind ==
            JSON_EXTRA) { /* where it is known: the schema may have it, never require it */
            if (property && !strcmp(property->string, f->key))
                property = property->next;
            continue;
        }
        assert_non_null(property);
        assert_non_null(required);
        assert_string_equal(property->string, f->key);
        assert_string_equal(required->valuestring, f->key);
        const cJSON *value = followed(root, property);
        if (!allows(value, types[f->kind]))
            fail_msg("%s.%s: the schema has another type than the table", type->name, f->key);
        if (f->kind == JSON_MAYBE && !allows(value, "null"))
            fail_msg("%s.%s: the schema does not allow null", type->name, f->key);
        if (f->kind == JSON_LIST)
            value = followed(root, item(value, "items"));
        if (f->type)
            assert_same(root, value, f->type);
        property = property->next;
        required = required->next;
    }
    assert_null(property);
    assert_null(required);
}

static void the_schema_is_that_of_the_fields(void **state)
{
    (void)state;
    cJSON *root;
    assert_ok(json_parse_file(SCHEMA, 1 << 20, &root));
    assert_non_null(root);
    assert_same(root, root, &record_timing_file);
    assert_string_equal(
        cJSON_GetStringValue(item(item(item(root, "properties"), "schema"), "const")),
        TIMING_SCHEMA);
    cJSON_Delete(root);
}

static struct timing_file *read_text(const char *text)
{
    char path[64];
    struct timing_file *t;
    snprintf(path, sizeof path, "/tmp/test_timing_%d.json", (int)getpid());
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    assert_ok(timing_file_read(path, &t));
    unlink(path);
    return t;
}

/* The format that ours extends has fewer keys, and some writers more. */
static void other_writers_are_read(void **state)
{
    (void)state;
    assert_null(read_text("[1]"));
    assert_null(read_text("not JSON"));
    struct timing_file *t = read_text("{}");
    assert_null(t->schema);
    assert_null(t->measurements);
    timing_file_free(t);
    t = read_text(
        "{\"measurements\": [7, {\"operation\": \"a\", \"volume_size\": 64, \"time\": \"1\","
        " \"counted_flops\": 3, \"calibration\": {\"gflops\": 2}, \"more\": []}]}");
    assert_int_equal(t->measurements_count, 2);
    assert_null(t->measurements[0].operation);
    const struct timing_measurement *m = &t->measurements[1];
    assert_int_equal(m->volume_size, 64);
    assert_true(isnan(m->time) && !m->status && !m->fingerprint);
    assert_near(m->counted_flops, 3, 0);
    assert_near(m->calibration->gflops, 2, 0);
    assert_true(isnan(m->calibration->gbytes_per_s));
    timing_file_free(t);
}

static void a_value_alone(void **state)
{
    (void)state;
    struct timing_file *t = read_text(
        "{\"environment\": {\"cpu\": \"X\", \"threads\": 2, \"devices\": [\"a\", \"b\"]}}");
    static const char *const keys[] = {"cpu", "threads", "devices", "driver", "no such key"};
    static const char *const values[] = {"\"X\"", "2", "[\"a\",\"b\"]", "", ""};
    for (int i = 0; i < 5; i++) {
        char *text;
        size_t bytes;
        struct jsonw w;
        FILE *out = open_memstream(&text, &bytes);
        jsonw_init(&w, out, 0);
        assert_int_equal(json_write_value(&w, &record_timing_environment, &t->environment, keys[i]),
                         i < 3);
        fclose(out);
        assert_string_equal(text, values[i]);
        free(text);
    }
    timing_file_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_schema_is_that_of_the_fields),
                                       cmocka_unit_test(other_writers_are_read),
                                       cmocka_unit_test(a_value_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
