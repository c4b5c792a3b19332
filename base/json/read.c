/* Reads items by their tables from a parsed file. */
#include <math.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/json/json.h"

struct json_reader {
    struct arena *arena;
    enum json_rule rule;
};

/* A lenient reader passes over these; the item is blank already. */
#define WRONG_IF(condition, ...)                                                                   \
    do {                                                                                           \
        if (condition)                                                                             \
            return r->rule == JSON_LENIENT ? ERR_OK : FAIL(ERR_INPUT, __VA_ARGS__);                \
    } while (0)

static enum err json_read_object(const struct json_reader *r, const struct json_record *type,
                                 const cJSON *j, void *item, int first);

static enum err read_scalar(const struct json_reader *r, const struct json_field *f, const cJSON *j,
                            void *at)
{
    if (cJSON_IsNull(j))
        return ERR_OK;
    double v = cJSON_IsNumber(j) ? j->valuedouble : (double)NAN;
    int whole =
        fabs(v) < 9007199254740992.0 && v >= -9007199254740991.0 && floor(v) <= v && floor(v) >= v;
    if (f->kind == JSON_TEXT && cJSON_IsString(j)) {
        *(const char **)at = arena_text(r->arena, j->valuestring);
        FAIL_IF(!*(const char **)at, ERR_MEMORY, "no memory for the texts of a JSON file");
    } else if ((f->kind == JSON_REAL || f->kind == JSON_EXTRA) && cJSON_IsNumber(j)) {
        *(double *)at = v;
    } else if (f->kind == JSON_INT && whole) {
        *(int64_t *)at = (int64_t)v;
    } else if (f->kind == JSON_INDEX && whole && v >= 0 && v <= INT32_MAX) {
        *(int32_t *)at = (int32_t)v;
    } else if (f->kind == JSON_FLAG && cJSON_IsBool(j)) {
        *(int *)at = cJSON_IsTrue(j);
    } else {
        WRONG_IF(1, "\"%s\" holds a value of another kind or size", f->key);
    }
    return ERR_OK;
}

static enum err read_word(const struct json_reader *r, const struct json_field *f, const cJSON *j,
                          char *items, int i)
{
    struct json_field one = *f;
    one.kind = f->kind == JSON_WORDS ? JSON_TEXT : f->kind == JSON_NUMBERS ? JSON_REAL : JSON_INT;
    void *at = items + (size_t)i * 8;
    if (one.kind == JSON_REAL)
        *(double *)at = (double)NAN;
    if (one.kind == JSON_INT)
        *(int64_t *)at = JSON_UNKNOWN;
    return read_scalar(r, &one, j, at);
}

static enum err json_read_array(const struct json_reader *r, const struct json_field *f,
                                const cJSON *j, void *item)
{
    static const struct json_record plain = {"values", 8, NULL, 0};
    WRONG_IF(!cJSON_IsArray(j), "\"%s\" is not an array", f->key);
    char *items;
    const struct json_record *type = f->kind == JSON_LIST ? f->type : &plain;
    TRY(json_items(r->arena, type, (size_t)cJSON_GetArraySize(j), &items, json_count_at(f, item)));
    *(char **)json_at(f, item) = items;
    int i = 0;
    for (const cJSON *v = j->child; v; v = v->next, i++) {
        if (f->kind == JSON_LIST)
            TRY(json_read_object(r, f->type, v, items + (size_t)i * type->size, 0));
        else
            TRY(read_word(r, f, v, items, i));
    }
    return ERR_OK;
}

static enum err json_read_table(const struct json_reader *r, const struct json_field *f,
                                const cJSON *j, void *item)
{
    WRONG_IF(!cJSON_IsObject(j), "\"%s\" is not an object of columns", f->key);
    const struct json_record *type = f->type;
    int count = -1;
    char *items = NULL;
    for (int c = 0; c < type->count; c++) {
        const struct json_field *column = &type->fields()[c];
        const cJSON *values = cJSON_GetObjectItemCaseSensitive(j, column->key);
        if (!values && r->rule == JSON_EARLIER)
            continue;
        WRONG_IF(!cJSON_IsArray(values), "\"%s\" has no column \"%s\"", f->key, column->key);
        if (count < 0) {
            count = cJSON_GetArraySize(values);
            TRY(json_items(r->arena, type, (size_t)count, &items, &count));
        }
        WRONG_IF(cJSON_GetArraySize(values) != count, "the columns of \"%s\" differ in length",
                 f->key);
        char *at = items;
        for (const cJSON *v = values->child; v; v = v->next, at += type->size)
            TRY(read_scalar(r, column, v, json_at(column, at)));
    }
    *(char **)json_at(f, item) = items;
    *json_count_at(f, item) = count < 0 ? 0 : count;
    return ERR_OK;
}

static enum err read_map(const struct json_reader *r, const struct json_field *f, const cJSON *j,
                         void *item)
{
    WRONG_IF(!cJSON_IsObject(j), "\"%s\" is not an object", f->key);
    const struct json_record *type = f->type;
    const struct json_field *fields = type->fields();
    char *items;
    TRY(json_items(r->arena, type, (size_t)cJSON_GetArraySize(j), &items, json_count_at(f, item)));
    *(char **)json_at(f, item) = items;
    for (const cJSON *v = j->child; v; v = v->next, items += type->size) {
        const char *key = arena_text(r->arena, v->string);
        FAIL_IF(!key, ERR_MEMORY, "no memory for the texts of a JSON file");
        *(const char **)json_at(&fields[0], items) = key;
        enum err e = type->count == 2 ? read_scalar(r, &fields[1], v, json_at(&fields[1], items))
                                      : json_read_object(r, type, v, items, 1);
        if (e != ERR_OK)
            return err_prefix(e, "%s", key);
    }
    return ERR_OK;
}

static enum err read_maybe(const struct json_reader *r, const struct json_field *f, const cJSON *j,
                           void *item)
{
    int one;
    char *to;
    if (cJSON_IsNull(j))
        return ERR_OK;
    WRONG_IF(!cJSON_IsObject(j), "\"%s\" is neither an object nor null", f->key);
    TRY(json_items(r->arena, f->type, 1, &to, &one));
    *(char **)json_at(f, item) = to;
    return json_read_object(r, f->type, j, to, 0);
}

static enum err read_field(const struct json_reader *r, const struct json_field *f, const cJSON *j,
                           void *item)
{
    switch (f->kind) {
    case JSON_ONE:
        return json_read_object(r, f->type, j, json_at(f, item), 0);
    case JSON_MAYBE:
        return read_maybe(r, f, j, item);
    case JSON_LIST:
    case JSON_WORDS:
    case JSON_NUMBERS:
    case JSON_COUNTS:
        return json_read_array(r, f, j, item);
    case JSON_TABLE:
        return json_read_table(r, f, j, item);
    case JSON_MAP:
        return read_map(r, f, j, item);
    default:
        return read_scalar(r, f, j, json_at(f, item));
    }
}

static enum err json_read_object(const struct json_reader *r, const struct json_record *type,
                                 const cJSON *j, void *item, int first)
{
    WRONG_IF(!cJSON_IsObject(j), "a value that should be an object (%s) is none", type->name);
    for (int i = first; i < type->count; i++) {
        const struct json_field *f = &type->fields()[i];
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(j, f->key);
        if (!v && (r->rule != JSON_STRICT || f->kind == JSON_EXTRA))
            continue;
        FAIL_IF(!v, ERR_INPUT, "\"%s\" is missing", f->key);
        TRY(read_field(r, f, v, item));
    }
    return ERR_OK;
}

enum err json_read(struct arena *a, const struct json_record *type, const cJSON *j, void *item,
                   enum json_rule rule)
{
    const struct json_reader r = {a, rule};
    return json_read_object(&r, type, j, item, 0);
}

enum err json_parse_file(const char *path, size_t limit, cJSON **root)
{
    char *text;
    size_t bytes;
    *root = NULL;
    TRY(file_read_all(path, limit, &text, &bytes));
    *root = cJSON_ParseWithLength(text, bytes);
    free(text);
    return ERR_OK;
}
