/* links: tp_json */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/json/tables.h"
#include "tests/unit/check.h"

/* clang-format off */
#define PART_FIELDS(X)              \
    X(TEXT, _, name, "of the part") \
    X(INT, _, size, "bytes")
#define WHOLE_FIELDS(X)              \
    X(TEXT, _, title, "")            \
    X(REAL, _, time, "s")            \
    X(EXTRA, _, counted, "s")        \
    X(INDEX, _, at, "")              \
    X(FLAG, _, good, "")             \
    X(ONE, part, first, "")          \
    X(MAYBE, part, other, "")        \
    X(LIST, part, parts, "")         \
    X(TABLE, part, columns, "")      \
    X(WORDS, _, words, "")           \
    X(NUMBERS, _, numbers, "")       \
    X(COUNTS, _, counts, "")

JSON_DEFINE(part, PART_FIELDS)
JSON_DEFINE(whole, WHOLE_FIELDS)
JSON_DECLARE(part, PART_FIELDS)
JSON_DECLARE(whole, WHOLE_FIELDS)
JSON_RECORD(part, PART_FIELDS)
JSON_RECORD(whole, WHOLE_FIELDS)
/* clang-format on */

static const char full[] =
    "{\"title\":\"t\",\"time\":0.5,\"counted\":2,\"at\":3,\"good\":true,\"first\":{\"name\":\"a\","
    "\"size\":1},\"other\":{\"name\":\"b\",\"size\":null},\"parts\":[{\"name\":null,\"size\":2}],"
    "\"columns\":{\"name\":[\"c\",\"d\"],\"size\":[3,4]},\"words\":[\"e\"],\"numbers\":[1.5,null],"
    "\"counts\":[7]}";
static const char blank[] =
    "{\"title\":null,\"time\":null,\"at\":null,\"good\":false,\"first\":{\"name\":null,\"size\":"
    "null},\"other\":null,\"parts\":[],\"columns\":{\"name\":[],\"size\":[]},\"words\":[],"
    "\"numbers\":[],\"counts\":[]}";

static struct arena *arena;

static int make(void **state)
{
    (void)state;
    return arena_create(&arena) != ERR_OK;
}

static int drop(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static enum err parse(const char *text, struct whole *out, enum json_rule rule)
{
    cJSON *j = cJSON_Parse(text);
    assert_non_null(j);
    json_blank(&record_whole, out);
    enum err e = json_read(arena, &record_whole, j, out, rule);
    cJSON_Delete(j);
    return e;
}

static void assert_written(const struct whole *item, const char *expected)
{
    char *text;
    size_t bytes;
    struct jsonw w;
    FILE *out = open_memstream(&text, &bytes);
    jsonw_init(&w, out, 0);
    json_write(&w, &record_whole, item);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void test_round(void **state)
{
    (void)state;
    struct whole item;
    assert_ok(parse(full, &item, JSON_STRICT));
    assert_written(&item, full);
    assert_int_equal(item.columns_count, 2);
    assert_int_equal(item.columns[1].size, 4);
    assert_ok(parse(blank, &item, JSON_STRICT));
    assert_true(isnan(item.counted) && !item.other && item.at == -1);
    assert_written(&item, blank);
}

static void test_strict(void **state)
{
    (void)state;
    struct whole item;
    assert_int_equal(parse("[]", &item, JSON_STRICT), ERR_INPUT);
    assert_int_equal(parse("{\"title\":1}", &item, JSON_STRICT), ERR_INPUT);
    assert_non_null(strstr(err_text(), "\"title\""));
    assert_int_equal(parse("{\"title\":null}", &item, JSON_STRICT), ERR_INPUT);
    assert_non_null(strstr(err_text(), "\"time\" is missing"));
}

/* Missing keys and keys of another kind stay unknown, the rest is read. */
static void test_lenient(void **state)
{
    (void)state;
    struct whole item;
    static const char *const bad[] = {
        "[]", "{\"title\":1,\"time\":\"2\",\"counted\":[],\"at\":-1,\"good\":1,\"first\":3,"
              "\"other\":4,\"parts\":{},\"columns\":{\"name\":[],\"size\":[1]},\"words\":{},"
              "\"numbers\":5,\"counts\":null}"};
    for (int i = 0; i < 2; i++) {
        assert_ok(parse(bad[i], &item, JSON_LENIENT));
        assert_written(&item, blank);
        assert_null(item.parts);
    }
    assert_ok(
        parse("{\"parts\":[1,{\"size\":5}],\"words\":[2,\"w\"],\"more\":1}", &item, JSON_LENIENT));
    assert_int_equal(item.parts_count, 2);
    assert_true(item.parts[0].size == JSON_UNKNOWN && item.parts[1].size == 5);
    assert_null(item.words[0]);
    assert_string_equal(item.words[1], "w");
}

static void test_schema(void **state)
{
    (void)state;
    static const struct json_record *const types[] = {&record_part};
    const struct json_schema s = {"title", "description", "whole/1", &record_whole, types, 1};
    char path[64], *text;
    size_t bytes;
    snprintf(path, sizeof path, "/tmp/test_json_%d.json", (int)getpid());
    assert_ok(json_schema_write(&s, path));
    assert_ok(file_read_all(path, 1 << 20, &text, &bytes));
    unlink(path);
    cJSON *j = cJSON_Parse(text), *p = cJSON_GetObjectItem(j, "properties");
    free(text);
    assert_int_equal(cJSON_GetArraySize(p), 1 + record_whole.count);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(j, "required")), record_whole.count);
    assert_int_equal(
        cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(p, "other"), "anyOf")), 2);
    assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(j, "$defs"), "part"));
    cJSON_Delete(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round), cmocka_unit_test(test_strict),
                                       cmocka_unit_test(test_lenient),
                                       cmocka_unit_test(test_schema)};
    return cmocka_run_group_tests(tests, make, drop);
}
