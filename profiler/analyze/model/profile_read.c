/* profile.json to a model; indices are checked once here. */
#include <string.h>

#include <cjson/cJSON.h>

#include "profiler/analyze/model/model.h"

#define PROFILE_LIMIT ((size_t)1 << 30)

static int index_is_valid(int32_t index, int count)
{
    return index >= -1 && index < count;
}

/* Indices point into their tables, parents before their children: loops over them need no checks.
 */
static enum err check_indices(const struct model *m)
{
    int bad = 0;
    for (int i = 0; i < m->stacks_count; i++)
        bad += !index_is_valid(m->stacks[i].parent, i) ||
               !index_is_valid(m->stacks[i].frame, m->frames_count);
    for (int i = 0; i < m->own_count; i++)
        bad += !index_is_valid(m->own[i].parent, i);
    for (int f = 0; f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count; i++) {
            const struct model_line *line = &m->files[f].lines[i];
            bad += !index_is_valid(line->function, m->files[f].functions_count);
            for (int k = 0; k < line->gpu.kernels_count; k++)
                bad += !index_is_valid(line->gpu.kernels[k].kernel, m->kernels_count);
            for (int k = 0; k < line->ranges_count; k++)
                bad += !index_is_valid(line->ranges[k].range, m->ranges_count);
        }
    for (int i = 0; i < m->threads_count; i++)
        bad += !index_is_valid(m->threads[i].process, m->processes_count);
    for (int i = 0; i < m->timeline_count; i++) {
        const struct model_track *t = &m->timeline[i];
        bad += !index_is_valid(t->process, m->processes_count) ||
               !index_is_valid(t->thread, m->threads_count) ||
               !index_is_valid(t->device, m->devices_count);
    }
    for (int i = 0; i < m->memory.series_count; i++) {
        const struct model_series *s = &m->memory.series[i];
        bad += !index_is_valid(s->process, m->processes_count) || s->rss_mb_count != s->t_s_count ||
               s->heap_mb_count != s->t_s_count;
    }
    for (int i = 0; i < m->gpu.gaps_count; i++)
        bad += !index_is_valid(m->gpu.gaps[i].device, m->devices_count);
    FAIL_IF(bad, ERR_INPUT, "%d entries point outside of their tables", bad);
    return ERR_OK;
}

/* Names that decide what an entry is. */
static enum err check_names(const struct model *m)
{
    int bad = 0;
    for (int i = 0; i < m->unattributed_count; i++)
        bad += !m->unattributed[i].module;
    for (int i = 0; i < m->timeline_count; i++)
        bad += !m->timeline[i].kind;
    FAIL_IF(bad, ERR_INPUT, "%d modules or tracks have no name", bad);
    return ERR_OK;
}

#define TIME_MOST ((int64_t)1 << 60) /* ns: 36 years */

/* Adds to a sum that later stays within 64 bits; 0: it would not. */
static int add_amount(int64_t *sum, int64_t amount)
{
    if (amount == MODEL_UNKNOWN || *sum > TIME_MOST)
        return amount == MODEL_UNKNOWN;
    *sum += amount < 0 ? -amount : amount;
    return *sum <= TIME_MOST;
}

static int track_is_timed(const struct model_track *t)
{
    int64_t at = 0, busy = 0;
    for (int i = 0; i < t->events_count; i++) {
        const struct model_event *e = &t->events[i];
        if (e->start == MODEL_UNKNOWN || e->length == MODEL_UNKNOWN || !add_amount(&at, e->start) ||
            !add_amount(&busy, e->length) || !add_amount(&busy, e->busy))
            return 0;
    }
    return 1;
}

/* Sums over events, stacks and lines need no checks either. */
static enum err check_amounts(const struct model *m)
{
    int64_t sum[9] = {0};
    int bad = 0;
    for (int i = 0; i < m->timeline_count; i++)
        bad += !track_is_timed(&m->timeline[i]);
    FAIL_IF(bad, ERR_INPUT,
            "%d tracks of the timeline have events without a time, or after more than 36 years",
            bad);
    for (int i = 0; i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        bad += !add_amount(&sum[0], s->cpu_ns) || !add_amount(&sum[1], s->wait_ns) ||
               !add_amount(&sum[2], s->gpu_ns) || !add_amount(&sum[3], s->alloc_bytes);
    }
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        bad += !add_amount(&sum[4], o->cpu_ns) || !add_amount(&sum[5], o->wait_ns) ||
               !add_amount(&sum[6], o->gpu_ns) || !add_amount(&sum[7], o->path_cpu_ns) ||
               !add_amount(&sum[8], o->path_wait_ns);
    }
    FAIL_IF(bad, ERR_INPUT,
            "%d stacks bring a sum of times or bytes above 2^60; no program takes so much", bad);
    return ERR_OK;
}

/* Checks the keys that every version wrote. */
static enum err check_core(const cJSON *root)
{
    static const char *const core[] = {"meta",   "environment", "quality", "totals",
                                       "files",  "threads",     "stacks",  "frames",
                                       "memory", "timeline",    "findings"};
    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        FAIL_IF(!cJSON_GetObjectItemCaseSensitive(root, core[i]), ERR_INPUT, "\"%s\" is missing",
                core[i]);
    return ERR_OK;
}

static enum err read_root(const cJSON *root, enum json_rule rule, struct model *m)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    FAIL_IF(!cJSON_IsString(schema), ERR_INPUT,
            "not a profile of tomoprof: it has no key \"schema\"");
    FAIL_IF(strcmp(schema->valuestring, MODEL_SCHEMA) != 0, ERR_INPUT,
            "schema %.40s, this version reads " MODEL_SCHEMA, schema->valuestring);
    TRY(check_core(root));
    TRY(json_read(m->arena, &record_model, root, m, rule));
    m->earlier = rule == JSON_EARLIER;
    TRY(check_indices(m));
    TRY(check_names(m));
    return check_amounts(m);
}

static enum err read_as(const cJSON *root, enum json_rule rule, struct model **m)
{
    TRY(model_create(m));
    return cJSON_IsObject(root) ? read_root(root, rule, *m)
                                : FAIL(ERR_INPUT, "not a valid JSON object");
}

enum err profile_read(const char *path, struct model **out)
{
    cJSON *root;
    TRY(json_parse_file(path, PROFILE_LIMIT, &root));
    struct model *m = NULL;
    enum err e = read_as(root, JSON_STRICT, &m);
    if (e == ERR_INPUT) {
        model_destroy(m);
        m = NULL;
        e = read_as(root, JSON_EARLIER, &m);
    }
    cJSON_Delete(root);
    if (e != ERR_OK) {
        model_destroy(m);
        return err_prefix(e, "%s", path);
    }
    *out = m;
    return ERR_OK;
}
