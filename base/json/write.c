/* Writes items by their tables. */
#include <math.h>
#include <string.h>

#include "base/json/json.h"

#define EXACT ((int64_t)1 << 53) /* beyond, a double has no place for every integer */

static void write_object(struct jsonw *w, const struct json_record *type, const void *item,
                         int first);

static void write_int(struct jsonw *w, int64_t v)
{
    if (v <= -EXACT || v >= EXACT)
        jsonw_null(w);
    else
        jsonw_int(w, v);
}

static void write_scalar(struct jsonw *w, const struct json_field *f, const void *at)
{
    switch (f->kind) {
    case JSON_TEXT:
        jsonw_string(w, *(const char *const *)at);
        break;
    case JSON_REAL:
    case JSON_EXTRA:
        jsonw_number(w, *(const double *)at);
        break;
    case JSON_INT:
        write_int(w, *(const int64_t *)at);
        break;
    case JSON_INDEX:
        write_int(w, *(const int32_t *)at < 0 ? JSON_UNKNOWN : *(const int32_t *)at);
        break;
    default:
        jsonw_bool(w, *(const int *)at);
    }
}

/* Items are `step` bytes apart; only kinds with a count come here. */
static void write_array(struct jsonw *w, const struct json_field *f, const char *items, int count)
{
    jsonw_array(w);
    for (int i = 0; i < count; i++) {
        if (f->kind == JSON_LIST)
            write_object(w, f->type, items + (size_t)i * f->type->size, 0);
        else if (f->kind == JSON_WORDS)
            jsonw_string(w, ((const char *const *)(const void *)items)[i]);
        else if (f->kind == JSON_NUMBERS)
            jsonw_number(w, ((const double *)(const void *)items)[i]);
        else
            write_int(w, ((const int64_t *)(const void *)items)[i]);
    }
    jsonw_end(w);
}

static void write_table(struct jsonw *w, const struct json_record *type, const char *items,
                        int count)
{
    jsonw_object(w);
    for (int c = 0; c < type->count; c++) {
        const struct json_field *f = &type->fields()[c];
        jsonw_karray(w, f->key);
        for (int i = 0; i < count; i++)
            write_scalar(w, f, json_at(f, items + (size_t)i * type->size));
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void write_map(struct jsonw *w, const struct json_record *type, const char *items, int count)
{
    const struct json_field *fields = type->fields();
    jsonw_object(w);
    for (int i = 0; i < count; i++) {
        const char *item = items + (size_t)i * type->size;
        const char *key = *(const char **)json_at(&fields[0], item);
        jsonw_key(w, key ? key : "");
        if (type->count == 2) /* key and value */
            write_scalar(w, &fields[1], json_at(&fields[1], item));
        else
            write_object(w, type, item, 1);
    }
    jsonw_end(w);
}

static void write_value(struct jsonw *w, const struct json_field *f, const void *at, int count)
{
    const void *items = f->kind <= JSON_ONE ? NULL : *(const void *const *)at;
    if (f->kind < JSON_ONE)
        write_scalar(w, f, at);
    else if (f->kind == JSON_ONE)
        write_object(w, f->type, at, 0);
    else if (f->kind == JSON_MAYBE && !items)
        jsonw_null(w);
    else if (f->kind == JSON_MAYBE)
        write_object(w, f->type, items, 0);
    else if (f->kind == JSON_TABLE)
        write_table(w, f->type, items, count);
    else if (f->kind == JSON_MAP)
        write_map(w, f->type, items, count);
    else
        write_array(w, f, items, count);
}

static int is_known(const struct json_field *f, const void *at)
{
    switch (f->kind) {
    case JSON_REAL:
    case JSON_EXTRA:
        return !isnan(*(const double *)at);
    case JSON_INT:
        return *(const int64_t *)at != JSON_UNKNOWN;
    case JSON_INDEX:
        return *(const int32_t *)at >= 0;
    case JSON_FLAG:
    case JSON_ONE:
        return 1;
    default:
        return *(const void *const *)at != NULL;
    }
}

static void write_field(struct jsonw *w, const struct json_field *f, const void *item)
{
    write_value(w, f, json_at(f, item), f->kind > JSON_MAYBE ? *json_count_at(f, item) : 0);
}

static void write_fields(struct jsonw *w, const struct json_record *type, const void *item,
                         int first)
{
    for (int i = first; i < type->count; i++) {
        const struct json_field *f = &type->fields()[i];
        if (f->kind == JSON_EXTRA && !is_known(f, json_at(f, item)))
            continue;
        jsonw_key(w, f->key);
        write_field(w, f, item);
    }
}

static void write_object(struct jsonw *w, const struct json_record *type, const void *item,
                         int first)
{
    jsonw_object(w);
    write_fields(w, type, item, first);
    jsonw_end(w);
}

void json_write_fields(struct jsonw *w, const struct json_record *type, const void *item)
{
    write_fields(w, type, item, 0);
}

void json_write(struct jsonw *w, const struct json_record *type, const void *item)
{
    write_object(w, type, item, 0);
}

int json_write_value(struct jsonw *w, const struct json_record *type, const void *item,
                     const char *key)
{
    for (int i = 0; i < type->count; i++) {
        const struct json_field *f = &type->fields()[i];
        if (!strcmp(f->key, key) && is_known(f, json_at(f, item))) {
            write_field(w, f, item);
            return 1;
        }
    }
    return 0;
}
