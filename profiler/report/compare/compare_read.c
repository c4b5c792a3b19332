#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/base/file.h"
#include "profiler/report/compare/compare_read.h"

#define TIMING_LIMIT (64u << 20)

static enum err grow(struct compare_side *s, const char *name, int size, struct compare_times **out)
{
    for (int i = 0; i < s->times_count; i++)
        if (s->times[i].size == size && strcmp(s->times[i].name, name) == 0) {
            *out = &s->times[i];
            return ERR_OK;
        }
    struct compare_times *more = realloc(s->times, (size_t)(s->times_count + 1) * sizeof *more);
    char *copy = strdup(name);
    if (more)
        s->times = more;
    if (!more || !copy) {
        free(copy);
        return FAIL(ERR_MEMORY, "no memory left for the operations of %s", s->path);
    }
    more[s->times_count] = (struct compare_times){.name = copy, .size = size};
    *out = &more[s->times_count++];
    return ERR_OK;
}

static enum err add_row(struct compare_side *s, const cJSON *row)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "operation");
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(row, "volume_size");
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(row, "time");
    const cJSON *status = cJSON_GetObjectItemCaseSensitive(row, "status");
    int counts = cJSON_IsString(status) && strcmp(status->valuestring, "ok") == 0 &&
                 !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "cold")) &&
                 !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "traced"));
    if (!counts)
        return ERR_OK;
    FAIL_IF(!cJSON_IsString(name) || !cJSON_IsNumber(size) || !cJSON_IsNumber(time) ||
                !(time->valuedouble > 0),
            ERR_INPUT, "%s has a measurement without operation, volume_size or time", s->path);
    struct compare_times *t = NULL;
    TRY(grow(s, name->valuestring, size->valueint, &t));
    double *more = realloc(t->seconds, (size_t)(t->count + 1) * sizeof *more);
    FAIL_IF(!more, ERR_MEMORY, "no memory left for the times of %s", s->path);
    t->seconds = more;
    more[t->count++] = time->valuedouble;
    return ERR_OK;
}

static enum err read_timing(const char *path, struct compare_side *s)
{
    char *text;
    size_t bytes;
    TRY(file_read_all(path, TIMING_LIMIT, &text, &bytes));
    s->timing = cJSON_ParseWithLength(text, bytes);
    free(text);
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(s->timing, "measurements"), *row;
    FAIL_IF(!cJSON_IsArray(rows), ERR_INPUT, "%s is no timing.json: it has no list of measurements",
            path);
    cJSON_ArrayForEach (row, rows)
        TRY(add_row(s, row));
    return ERR_OK;
}

static int exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

enum err compare_side_read(const char *path, struct compare_side *s)
{
    struct stat st;
    char file[4096];
    *s = (struct compare_side){.path = strdup(path)};
    FAIL_IF(!s->path, ERR_MEMORY, "no memory left for the name %s", path);
    FAIL_IF(stat(path, &st) != 0, ERR_INPUT,
            "%s is not there: give a run folder, a timing.json or a profile.json", path);
    if (!S_ISDIR(st.st_mode))
        return ends_with(path, "profile.json") ? profile_read(path, &s->profile)
                                               : read_timing(path, s);
    FAIL_IF(strlen(path) + 20 > sizeof file, ERR_INPUT, "the path %s is too long", path);
    snprintf(file, sizeof file, "%s/timing.json", path);
    if (exists(file))
        TRY(read_timing(file, s));
    snprintf(file, sizeof file, "%s/profile.json", path);
    if (exists(file))
        TRY(profile_read(file, &s->profile));
    FAIL_IF(!s->timing && !s->profile, ERR_INPUT, "%s holds neither timing.json nor profile.json",
            path);
    return ERR_OK;
}

void compare_side_free(struct compare_side *s)
{
    for (int i = 0; i < s->times_count; i++) {
        free(s->times[i].name);
        free(s->times[i].seconds);
    }
    free(s->times);
    free(s->path);
    cJSON_Delete(s->timing);
    if (s->profile)
        model_destroy(s->profile);
    *s = (struct compare_side){0};
}

char *compare_environment(const struct compare_side *s, const char *key)
{
    const cJSON *environment = cJSON_GetObjectItemCaseSensitive(s->timing, "environment");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(environment, key);
    return value && !cJSON_IsNull(value) ? cJSON_PrintUnformatted(value) : NULL;
}
