/* Items of a table: where their fields are, and items of which nothing is known. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json.h"

void *json_at(const struct json_field *f, const void *item)
{
    return (char *)item + f->offset;
}

int *json_count_at(const struct json_field *f, const void *item)
{
    return (int *)((char *)item + f->offset + sizeof(void *));
}

double json_real(int64_t v)
{
    return v == JSON_UNKNOWN ? (double)NAN : (double)v;
}

const char *json_digits(int64_t v, const char *unknown, char out[JSON_DIGITS])
{
    if (v == JSON_UNKNOWN)
        return unknown;
    snprintf(out, JSON_DIGITS, "%" PRId64, v);
    return out;
}

void json_blank(const struct json_record *type, void *item)
{
    memset(item, 0, type->size);
    for (int i = 0; i < type->count; i++) {
        const struct json_field *f = &type->fields()[i];
        void *at = json_at(f, item);
        if (f->kind == JSON_REAL || f->kind == JSON_EXTRA)
            *(double *)at = (double)NAN;
        else if (f->kind == JSON_INT)
            *(int64_t *)at = JSON_UNKNOWN;
        else if (f->kind == JSON_INDEX)
            *(int32_t *)at = -1;
        else if (f->kind == JSON_ONE)
            json_blank(f->type, at);
    }
}

enum err json_items(struct arena *a, const struct json_record *type, size_t count, void *items,
                    int *items_count)
{
    FAIL_IF(count > INT32_MAX, ERR_UNSUPPORTED, "%zu entries of %s are more than a file holds",
            count, type->name);
    char *p = arena_take(a, count * type->size);
    FAIL_IF(!p, ERR_MEMORY, "no memory for %zu entries of %s", count, type->name);
    for (size_t i = 0; i < count; i++)
        json_blank(type, p + i * type->size);
    memcpy(items, &p, sizeof p);
    *items_count = (int)count;
    return ERR_OK;
}
