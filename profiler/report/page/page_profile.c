/* Leaves out of profile.json what its page does not show. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/page/page_profile.h"

/* Keys that the page does not read; of a line where `object` is NULL, else of that part of it. */
static const struct unread {
    const char *object, *keys[8];
} unread[] = {
    {NULL, {"scalene", "dev_mem", "io"}},
    {"cpu", {"borrowed"}},
    {"cpu_incl", {"wait", "share"}},
    {"mem", {"n_error", "at_peak_mb", "share", "leak_score"}},
    {"gpu", {"kernel_s", "set_s", "built_s", "wait_s", "api_s", "kernels"}},
    {"copy", {"host_mb_s", "d2d", "p2p", "pageable_bytes"}},
};

static cJSON *page_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int number_is_zero(const cJSON *item)
{
    return !cJSON_IsNumber(item) || item->valuedouble == 0;
}

/* Fractions have 5 digits, of which the page shows 3. */
static void numbers_round(cJSON *item)
{
    char digits[32];
    for (cJSON *at = item ? item->child : NULL; at; at = at->next)
        numbers_round(at);
    if (!item || !cJSON_IsNumber(item) || item->valuedouble == floor(item->valuedouble))
        return;
    snprintf(digits, sizeof digits, "%.5g", item->valuedouble);
    cJSON_SetNumberValue(item, strtod(digits, NULL));
}

/* Threads on which a line took nothing say nothing. */
static void threads_shorten(cJSON *threads)
{
    for (cJSON *at = threads ? threads->child : NULL, *after; at; at = after) {
        after = at->next;
        if (number_is_zero(page_get(at, "cpu_s")) && number_is_zero(page_get(at, "cpu_incl_s")) &&
            number_is_zero(page_get(at, "wait_s")) && number_is_zero(page_get(at, "gpu_s")))
            cJSON_Delete(cJSON_DetachItemViaPointer(threads, at));
        else if (number_is_zero(page_get(at, "gpu_s")))
            cJSON_DeleteItemFromObjectCaseSensitive(at, "gpu_s");
    }
}

static void line_shorten(cJSON *line)
{
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++) {
        cJSON *of = unread[i].object ? page_get(line, unread[i].object) : line;
        for (const char *const *key = unread[i].keys; *key && cJSON_IsObject(of); key++)
            cJSON_DeleteItemFromObjectCaseSensitive(of, *key);
    }
    threads_shorten(page_get(line, "threads"));
    numbers_round(line);
}

/* The page reads the name of a function and its first line. */
static void function_shorten(cJSON *function)
{
    for (cJSON *at = function->child, *after; at; at = after) {
        after = at->next;
        if (strcmp(at->string, "name") != 0 && strcmp(at->string, "line") != 0)
            cJSON_Delete(cJSON_DetachItemViaPointer(function, at));
    }
}

static void files_shorten(const cJSON *files)
{
    const cJSON *file;
    cJSON *item;
    cJSON_ArrayForEach (file, files) {
        cJSON_ArrayForEach (item, page_get(file, "lines"))
            line_shorten(item);
        cJSON_ArrayForEach (item, page_get(file, "functions"))
            function_shorten(item);
    }
}

/* Distances are small and repeat, so they compress to a third. */
static void parents_to_distances(cJSON *stacks)
{
    int i = 0;
    cJSON *up = cJSON_DetachItemFromObjectCaseSensitive(stacks, "parent");
    for (cJSON *at = up ? up->child : NULL; at; at = at->next, i++) {
        const int parent = cJSON_IsNumber(at) ? at->valueint : -1;
        at->type = cJSON_Number;
        cJSON_SetNumberValue(at, parent >= 0 && parent < i ? i - parent : 0);
    }
    if (up)
        cJSON_AddItemToObject(stacks, "up", up);
}

enum err page_profile(cJSON *profile, char **text, size_t *bytes)
{
    TRY(page_merge_stacks(profile));
    files_shorten(page_get(profile, "files"));
    page_events(profile);
    parents_to_distances(page_get(profile, "stacks"));
    cJSON_DeleteItemFromObjectCaseSensitive(profile, "flows");
    numbers_round(page_get(profile, "threads"));
    numbers_round(page_get(page_get(profile, "io"), "files"));
    page_lines_join(profile);
    page_columns(profile, "threads");
    page_columns(page_get(profile, "io"), "files");
    *text = cJSON_PrintUnformatted(profile);
    FAIL_IF(!*text, ERR_MEMORY, "no memory for the report's data");
    *bytes = strlen(*text);
    return ERR_OK;
}
