/* Rows as columns: a page with thousands of lines then has each key once. assets/data.js makes rows
 * of them again. */
#include <string.h>

#include "profiler/report/page/page_profile.h"

static int all_are(const cJSON *array, cJSON_bool (*is)(const cJSON *))
{
    const cJSON *at;
    cJSON_ArrayForEach (at, array)
        if (!is(at))
            return 0;
    return 1;
}

static cJSON_bool is_rows(const cJSON *item)
{
    return cJSON_IsArray(item) && all_are(item, cJSON_IsObject);
}

/* Moves the elements of each list to the end of `joined`, and adds how many they were to `counts`. */
static void lists_join(cJSON *list, cJSON *joined, cJSON *counts)
{
    int n = 0;
    for (cJSON *at = list->child, *after; at; at = after, n++) {
        after = at->next;
        cJSON_AddItemToArray(joined, cJSON_DetachItemViaPointer(list, at));
    }
    cJSON_AddItemToArray(counts, cJSON_CreateNumber(n));
}

static cJSON *columns_make(cJSON *rows);

/* Takes over a column of values: objects and lists of objects become columns as well. */
static cJSON *column_make(cJSON *values)
{
    if (!values->child)
        return values;
    if (all_are(values, cJSON_IsObject))
        return columns_make(values);
    if (!all_are(values, is_rows))
        return values;
    cJSON *out = cJSON_CreateObject(), *joined = cJSON_CreateArray(), *counts = cJSON_CreateArray();
    for (cJSON *at = values->child; at; at = at->next)
        lists_join(at, joined, counts);
    cJSON_Delete(values);
    cJSON_AddItemToObject(out, "counts", counts);
    cJSON_AddItemToObject(out, "all", columns_make(joined));
    return out;
}

/* Takes over an array of objects. Without memory, cJSON leaves an item out, and the page does not
 * open. */
static cJSON *columns_make(cJSON *rows)
{
    const int n = cJSON_GetArraySize(rows);
    cJSON *out = cJSON_CreateObject(), *of = cJSON_CreateObject();
    for (cJSON *row = rows->child; row; row = row->next)
        while (row->child) { /* its first key, and that of all other rows */
            const char *key = row->child->string;
            cJSON *values = cJSON_CreateArray(), *name = cJSON_CreateString(key);
            for (cJSON *at = rows->child; at; at = at->next) {
                cJSON *value =
                    cJSON_DetachItemFromObjectCaseSensitive(at, cJSON_GetStringValue(name));
                cJSON_AddItemToArray(values, value ? value : cJSON_CreateNull());
            }
            cJSON_AddItemToObject(of, cJSON_GetStringValue(name), column_make(values));
            cJSON_Delete(name);
        }
    cJSON_Delete(rows);
    cJSON_AddNumberToObject(out, "rows", n);
    cJSON_AddItemToObject(out, "of", of);
    return out;
}

void page_columns(cJSON *holder, const char *key)
{
    cJSON *rows = cJSON_GetObjectItemCaseSensitive(holder, key);
    if (rows && is_rows(rows))
        cJSON_AddItemToObject(holder, key, columns_make(cJSON_DetachItemViaPointer(holder, rows)));
}

void page_lines_join(cJSON *profile)
{
    cJSON *files = cJSON_GetObjectItemCaseSensitive(profile, "files"), *file, *lines;
    cJSON_ArrayForEach (file, files)
        if (!is_rows(cJSON_GetObjectItemCaseSensitive(file, "lines")))
            return;
    cJSON *joined = cJSON_CreateArray(), *counts = cJSON_CreateArray();
    cJSON_ArrayForEach (file, files) {
        lists_join(cJSON_GetObjectItemCaseSensitive(file, "lines"), joined, counts);
        cJSON_DeleteItemFromObjectCaseSensitive(file, "lines");
    }
    lines = cJSON_AddObjectToObject(profile, "lines");
    cJSON_AddItemToObject(lines, "counts", counts);
    cJSON_AddItemToObject(lines, "all", columns_make(joined));
}
