/* Reads loading.json, which `load` writes: each way of loading is an operation with its times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/json/tables.h"
#include "base/text.h"
#include "profiler/findings/causes.h"
#include "profiler/report/compare/compare_parts.h"

#define LOADING_LIMIT ((size_t)1 << 30)

/* Reads what is compared; host/load/loading_fields.h has all of the file. */
/* clang-format off */
#define LOADED_FILE_FIELDS(X)                                                                      \
    X(TEXT, _, format, "")                                                                         \
    X(TEXT, _, array, "")                                                                          \
    X(INT, _, bytes, "")                                                                           \
    X(TEXT, _, filesystem, "")
#define LOADED_WAY_FIELDS(X)                                                                       \
    X(TEXT, _, backend, "")                                                                        \
    X(INT, _, workers, "")                                                                         \
    X(FLAG, _, processes, "")                                                                      \
    X(INT, _, batch, "")                                                                           \
    X(TEXT, _, order, "")                                                                          \
    X(INT, _, gap, "")                                                                             \
    X(REAL, _, seconds, "")                                                                        \
    X(NUMBERS, _, times, "")                                                                       \
    X(TEXT, _, status, "")
#define LOADED_FIELDS(X)                                                                           \
    X(TEXT, _, schema, "")                                                                         \
    X(TEXT, _, cache, "")                                                                          \
    X(TEXT, _, to, "")                                                                             \
    X(ONE, loaded_file, file, "")                                                                  \
    X(INT, _, chunks_read, "")                                                                     \
    X(REAL, _, read_s, "")                                                                         \
    X(REAL, _, read_cpu_s, "")                                                                     \
    X(LIST, loaded_way, sweep, "")
JSON_DEFINE(loaded_file, LOADED_FILE_FIELDS)
JSON_DEFINE(loaded_way, LOADED_WAY_FIELDS)
JSON_DEFINE(loaded, LOADED_FIELDS)
JSON_DECLARE(loaded_file, LOADED_FILE_FIELDS)
JSON_DECLARE(loaded_way, LOADED_WAY_FIELDS)
JSON_DECLARE(loaded, LOADED_FIELDS)
JSON_RECORD(loaded_file, LOADED_FILE_FIELDS)
JSON_RECORD(loaded_way, LOADED_WAY_FIELDS)
JSON_RECORD(loaded, LOADED_FIELDS)
/* clang-format on */

static const char *text_or_unknown(const char *text)
{
    return text ? text : "unknown";
}

static enum err load_add_way(struct compare_side *s, const struct loaded_way *w)
{
    char name[160], workers[JSON_DIGITS], batch[JSON_DIGITS];
    if (!w->status || strcmp(w->status, "ok"))
        return ERR_OK;
    text_print(name, sizeof name, "%s, %s %s, batch %s, order %s", text_or_unknown(w->backend),
               json_digits(w->workers, "unknown", workers), w->processes ? "processes" : "threads",
               json_digits(w->batch, "unknown", batch), text_or_unknown(w->order));
    if (w->gap && w->gap != JSON_UNKNOWN)
        text_append(name, sizeof name, ", gap %lld", (long long)w->gap);
    if (!w->times_count)
        return compare_add_time(s, name, 0, w->seconds);
    for (int i = 0; i < w->times_count; i++)
        TRY(compare_add_time(s, name, 0, w->times[i]));
    return ERR_OK;
}

static enum err load_fill(const char *path, const struct loaded *l, struct compare_side *s)
{
    const char *wanted = "tomoprof-loading/";
    char facts[COMPARE_LOAD_FACTS][160], digits[JSON_DIGITS];
    FAIL_IF(!l->schema || strncmp(l->schema, wanted, strlen(wanted)) || !(l->read_s > 0), ERR_INPUT,
            "%s is not a loading.json: `tomoprof load FILE` writes one", path);
    TRY(compare_add_time(s, "the load that was profiled", 0, l->read_s));
    for (int i = 0; i < l->sweep_count; i++)
        TRY(load_add_way(s, &l->sweep[i]));
    text_print(facts[0], sizeof facts[0], "%s %s of %s bytes", text_or_unknown(l->file.format),
               text_or_unknown(l->file.array), json_digits(l->file.bytes, "unknown", digits));
    text_print(facts[1], sizeof facts[1], "%s", json_digits(l->chunks_read, "unknown", digits));
    text_print(facts[2], sizeof facts[2], "%s", text_or_unknown(l->cache));
    text_print(facts[3], sizeof facts[3], "%s", text_or_unknown(l->to));
    text_print(facts[4], sizeof facts[4], "%s", text_or_unknown(l->file.filesystem));
    for (int i = 0; i < COMPARE_LOAD_FACTS; i++) {
        s->load[i] = strdup(facts[i]);
        FAIL_IF(!s->load[i], ERR_MEMORY, "no memory for %s", path);
    }
    s->load_s = l->read_s;
    s->load_cpu_s = l->read_cpu_s;
    return ERR_OK;
}

enum err compare_load_read(const char *path, struct compare_side *s)
{
    cJSON *root;
    struct arena *arena;
    struct loaded l;
    TRY(json_parse_file(path, LOADING_LIMIT, &root));
    enum err e = arena_create(&arena);
    json_blank(&record_loaded, &l);
    if (!e)
        e = json_read(arena, &record_loaded, root, &l, JSON_LENIENT);
    if (!e)
        e = load_fill(path, &l, s);
    arena_free(arena);
    cJSON_Delete(root);
    return e;
}

/* Causes of loading are filled by times alone: a profile without anything else. */
enum err compare_load_causes(const struct compare_side *a, const struct compare_side *b,
                             const char *name, int *filled)
{
    struct model *before = NULL, *later = NULL;
    enum err e = model_create(&before);
    if (!e)
        e = model_create(&later);
    if (!e) {
        before->meta.wall_s = a->load_s;
        before->totals.cpu.user = a->load_cpu_s;
        later->meta.wall_s = b->load_s;
        later->totals.cpu.user = b->load_cpu_s;
        e = causes_compare(a->path, before, b->path, later, name, filled);
    }
    model_destroy(before);
    model_destroy(later);
    return e;
}
