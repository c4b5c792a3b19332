#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "host/base/file.h"
#include "profiler/analyze/model/model.h"

#define PROFILE_LIMIT ((size_t)1 << 30)

static enum err read_object(struct model *m, const struct model_record *type, const cJSON *j,
                            void *item, int first);

/* Large enough for one text; a wrong kind of value is an error that names the key. */
static enum err read_scalar(struct model *m, const struct model_field *f, const cJSON *j, void *at)
{
    if (cJSON_IsNull(j))
        return ERR_OK; /* the item is blank already */
    double v = cJSON_IsNumber(j) ? j->valuedouble : (double)NAN;
    int whole =
        fabs(v) < 9007199254740992.0 && v >= -9007199254740991.0 && floor(v) <= v && floor(v) >= v;
    if (f->kind == MODEL_TEXT && cJSON_IsString(j)) {
        *(const char **)at = arena_text(m->arena, j->valuestring);
        FAIL_IF(!*(const char **)at, ERR_MEMORY, "no memory for the texts of a profile");
    } else if (f->kind == MODEL_REAL && cJSON_IsNumber(j)) {
        *(double *)at = v;
    } else if (f->kind == MODEL_INT && whole) {
        *(int64_t *)at = (int64_t)v;
    } else if (f->kind == MODEL_INDEX && whole && v >= 0 && v <= INT32_MAX) {
        *(int32_t *)at = (int32_t)v;
    } else if (f->kind == MODEL_FLAG && cJSON_IsBool(j)) {
        *(int *)at = cJSON_IsTrue(j);
    } else {
        return FAIL(ERR_INPUT, "\"%s\" holds a value of another kind or size", f->key);
    }
    return ERR_OK;
}

static enum err read_word(struct model *m, const struct model_field *f, const cJSON *j, char *items,
                          int i)
{
    struct model_field one = *f;
    one.kind = f->kind == MODEL_WORDS     ? MODEL_TEXT
               : f->kind == MODEL_NUMBERS ? MODEL_REAL
                                          : MODEL_INT;
    void *at = items + (size_t)i * 8;
    if (one.kind == MODEL_REAL)
        *(double *)at = (double)NAN;
    if (one.kind == MODEL_INT)
        *(int64_t *)at = MODEL_UNKNOWN;
    return read_scalar(m, &one, j, at);
}

static enum err read_array(struct model *m, const struct model_field *f, const cJSON *j, void *item)
{
    static const struct model_record plain = {"values", 8, NULL, 0};
    FAIL_IF(!cJSON_IsArray(j), ERR_INPUT, "\"%s\" is no array", f->key);
    char *items;
    const struct model_record *type = f->kind == MODEL_LIST ? f->type : &plain;
    TRY(model_items(m, type, (size_t)cJSON_GetArraySize(j), &items, model_count_at(f, item)));
    *(char **)model_at(f, item) = items;
    int i = 0;
    for (const cJSON *v = j->child; v; v = v->next, i++) {
        if (f->kind == MODEL_LIST)
            TRY(read_object(m, f->type, v, items + (size_t)i * type->size, 0));
        else
            TRY(read_word(m, f, v, items, i));
    }
    return ERR_OK;
}

static enum err read_table(struct model *m, const struct model_field *f, const cJSON *j, void *item)
{
    FAIL_IF(!cJSON_IsObject(j), ERR_INPUT, "\"%s\" is no object of columns", f->key);
    const struct model_record *type = f->type;
    int count = -1;
    char *items = NULL;
    for (int c = 0; c < type->count; c++) {
        const struct model_field *column = &type->fields()[c];
        const cJSON *values = cJSON_GetObjectItemCaseSensitive(j, column->key);
        FAIL_IF(!cJSON_IsArray(values), ERR_INPUT, "\"%s\" has no column \"%s\"", f->key,
                column->key);
        if (count < 0) {
            count = cJSON_GetArraySize(values);
            TRY(model_items(m, type, (size_t)count, &items, model_count_at(f, item)));
        }
        FAIL_IF(cJSON_GetArraySize(values) != count, ERR_INPUT,
                "the columns of \"%s\" differ in length", f->key);
        char *at = items;
        for (const cJSON *v = values->child; v; v = v->next, at += type->size)
            TRY(read_scalar(m, column, v, model_at(column, at)));
    }
    *(char **)model_at(f, item) = items;
    return ERR_OK;
}

static enum err read_map(struct model *m, const struct model_field *f, const cJSON *j, void *item)
{
    FAIL_IF(!cJSON_IsObject(j), ERR_INPUT, "\"%s\" is no object", f->key);
    const struct model_record *type = f->type;
    const struct model_field *fields = type->fields();
    char *items;
    TRY(model_items(m, type, (size_t)cJSON_GetArraySize(j), &items, model_count_at(f, item)));
    *(char **)model_at(f, item) = items;
    for (const cJSON *v = j->child; v; v = v->next, items += type->size) {
        const char *key = arena_text(m->arena, v->string);
        FAIL_IF(!key, ERR_MEMORY, "no memory for the texts of a profile");
        *(const char **)model_at(&fields[0], items) = key;
        enum err e = type->count == 2 ? read_scalar(m, &fields[1], v, model_at(&fields[1], items))
                                      : read_object(m, type, v, items, 1);
        if (e != ERR_OK)
            return err_prefix(e, "%s", key);
    }
    return ERR_OK;
}

static enum err read_field(struct model *m, const struct model_field *f, const cJSON *j, void *item)
{
    switch (f->kind) {
    case MODEL_ONE:
        return read_object(m, f->type, j, model_at(f, item), 0);
    case MODEL_LIST:
    case MODEL_WORDS:
    case MODEL_NUMBERS:
    case MODEL_COUNTS:
        return read_array(m, f, j, item);
    case MODEL_TABLE:
        return read_table(m, f, j, item);
    case MODEL_MAP:
        return read_map(m, f, j, item);
    default:
        return read_scalar(m, f, j, model_at(f, item));
    }
}

static enum err read_object(struct model *m, const struct model_record *type, const cJSON *j,
                            void *item, int first)
{
    FAIL_IF(!cJSON_IsObject(j), ERR_INPUT, "a value that should be an object (%s) is none",
            type->name);
    for (int i = first; i < type->count; i++) {
        const struct model_field *f = &type->fields()[i];
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(j, f->key);
        FAIL_IF(!v, ERR_INPUT, "\"%s\" is missing", f->key);
        TRY(read_field(m, f, v, item));
    }
    return ERR_OK;
}

static int index_in(int32_t index, int count)
{
    return index >= -1 && index < count;
}

/* Indices point into their tables, parents before their children: walks need no checks. */
static enum err check_indices(const struct model *m)
{
    int bad = 0;
    for (int i = 0; i < m->stacks_count; i++)
        bad += !index_in(m->stacks[i].parent, i) || !index_in(m->stacks[i].frame, m->frames_count);
    for (int f = 0; f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count; i++) {
            const struct model_line *line = &m->files[f].lines[i];
            bad += !index_in(line->function, m->files[f].functions_count);
            for (int k = 0; k < line->gpu.kernels_count; k++)
                bad += !index_in(line->gpu.kernels[k].kernel, m->kernels_count);
            for (int k = 0; k < line->ranges_count; k++)
                bad += !index_in(line->ranges[k].range, m->ranges_count);
        }
    for (int i = 0; i < m->threads_count; i++)
        bad += !index_in(m->threads[i].process, m->processes_count);
    for (int i = 0; i < m->timeline_count; i++) {
        const struct model_track *t = &m->timeline[i];
        bad += !index_in(t->process, m->processes_count) ||
               !index_in(t->thread, m->threads_count) || !index_in(t->device, m->devices_count);
    }
    for (int i = 0; i < m->memory.series_count; i++) {
        const struct model_series *s = &m->memory.series[i];
        bad += !index_in(s->process, m->processes_count) || s->rss_mb_count != s->t_s_count ||
               s->heap_mb_count != s->t_s_count;
    }
    for (int i = 0; i < m->gpu.gaps_count; i++)
        bad += !index_in(m->gpu.gaps[i].device, m->devices_count);
    FAIL_IF(bad, ERR_INPUT, "%d entries point outside of their tables", bad);
    return ERR_OK;
}

static enum err read_root(const cJSON *root, struct model *m)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    FAIL_IF(!cJSON_IsString(schema), ERR_INPUT, "no profile of tomoprof: it names no schema");
    FAIL_IF(strcmp(schema->valuestring, MODEL_SCHEMA) != 0, ERR_INPUT,
            "schema %.40s, this version reads " MODEL_SCHEMA, schema->valuestring);
    TRY(read_object(m, &record_model, root, m, 0));
    return check_indices(m);
}

enum err profile_read(const char *path, struct model **out)
{
    char *text;
    size_t bytes;
    TRY(file_read_all(path, PROFILE_LIMIT, &text, &bytes));
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    free(text);
    struct model *m = NULL;
    enum err e = model_create(&m);
    if (e == ERR_OK)
        e = cJSON_IsObject(root) ? read_root(root, m) : FAIL(ERR_INPUT, "no valid JSON object");
    cJSON_Delete(root);
    if (e != ERR_OK) {
        model_destroy(m);
        return err_prefix(e, "%s", path);
    }
    *out = m;
    return ERR_OK;
}
