/* Reads what compare needs: times by operation and size, and the profile. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "profiler/report/compare/compare_parts.h"

static enum err add_measurement(struct compare_side *s, const struct timing_measurement *m)
{
    if (!m->status || strcmp(m->status, "ok") != 0 || m->cold || m->traced)
        return ERR_OK;
    FAIL_IF(!m->operation || m->volume_size == JSON_UNKNOWN || m->volume_size > INT_MAX ||
                !(m->time > 0),
            ERR_INPUT, "%s has a measurement without operation, volume_size or time", s->path);
    return compare_add_time(s, m->operation, (int)m->volume_size, m->time);
}

static enum err read_timing(const char *path, struct compare_side *s)
{
    TRY(timing_file_read(path, &s->timing));
    FAIL_IF(!s->timing || !s->timing->measurements, ERR_INPUT,
            "%s is not a timing.json: it has no list of measurements", path);
    for (int i = 0; i < s->timing->measurements_count; i++)
        TRY(add_measurement(s, &s->timing->measurements[i]));
    return ERR_OK;
}

static int file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
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
        return text_ends(path, "profile.json")   ? profile_read(path, &s->profile)
               : text_ends(path, "loading.json") ? compare_load_read(path, s)
                                                 : read_timing(path, s);
    FAIL_IF(strlen(path) + 20 > sizeof file, ERR_INPUT, "the path %s is too long", path);
    snprintf(file, sizeof file, "%s/timing.json", path);
    if (file_exists(file))
        TRY(read_timing(file, s));
    snprintf(file, sizeof file, "%s/profile.json", path);
    if (file_exists(file))
        TRY(profile_read(file, &s->profile));
    snprintf(file, sizeof file, "%s/loading.json", path);
    if (!s->timing && !s->profile && file_exists(file))
        return compare_load_read(file, s);
    FAIL_IF(!s->timing && !s->profile, ERR_INPUT,
            "%s holds no timing.json, profile.json or loading.json", path);
    return ERR_OK;
}

void compare_side_free(struct compare_side *s)
{
    for (int i = 0; i < s->times_count; i++) {
        free(s->times[i].name);
        free(s->times[i].seconds);
    }
    for (int i = 0; i < COMPARE_LOAD_FACTS; i++)
        free(s->load[i]);
    free(s->times);
    free(s->path);
    timing_file_free(s->timing);
    if (s->profile)
        model_destroy(s->profile);
    *s = (struct compare_side){0};
}

char *compare_environment(const struct compare_side *s, const char *key)
{
    char *text = NULL;
    size_t bytes;
    struct jsonw w;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    jsonw_init(&w, out, 0);
    int known = json_write_value(&w, &record_timing_environment, &s->timing->environment, key);
    if (!fclose(out) && known)
        return text;
    free(text);
    return NULL;
}
