/* The tables of profile.json's structs, and models without content. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json/tables.h"
#include "base/text.h"
#include "profiler/analyze/model/model.h"

MODEL_STRUCTS(JSON_RECORD)
JSON_RECORD(model, MODEL_FIELDS)

enum err model_items(struct model *m, const struct json_record *type, size_t count, void *items,
                     int *items_count)
{
    return json_items(m->arena, type, count, items, items_count);
}

enum err model_create(struct model **out)
{
    struct arena *arena;
    TRY(arena_create(&arena));
    struct model *m = arena_take(arena, sizeof *m);
    if (!m) {
        arena_free(arena);
        return FAIL(ERR_MEMORY, "no memory for a profile");
    }
    json_blank(&record_model, m);
    m->arena = arena;
    *out = m;
    return ERR_OK;
}

void model_destroy(struct model *m)
{
    if (m)
        arena_free(m->arena);
}

static const char *model_fact_value(const struct model *m, const char *key)
{
    for (int i = 0; i < m->environment_count; i++)
        if (m->environment[i].key && !strcmp(m->environment[i].key, key))
            return m->environment[i].value;
    return NULL;
}

int model_counts_samples(const struct model *m)
{
    const char *unit = model_fact_value(m, "import.unit");
    return unit && !strcmp(unit, "samples");
}

double model_tick_hz(const struct model *m)
{
    const char *hz = model_fact_value(m, "hz");
    double ticks = hz ? strtod(hz, NULL) : 0;
    return ticks > 0 ? ticks : (double)NAN;
}

const char *model_more_samples(const struct model *m)
{
    return m->meta.cpu_hz >= fmin(1000, 0.8 * model_tick_hz(m))
               ? "Record more work."
               : "Record more work, or sample more often: `tomoprof record --rate 1000`.";
}

const char *model_cpu_text(const struct model *m, double s, char out[MODEL_PART])
{
    if (model_counts_samples(m))
        snprintf(out, MODEL_PART, "%.0f samples", 1e9 * s);
    else
        snprintf(out, MODEL_PART, "%s s", NUMBER(3, s));
    return out;
}

const char *model_cpu_part(const struct model *m, double part_s, double all_s, char out[MODEL_PART])
{
    if (model_counts_samples(m))
        snprintf(out, MODEL_PART, "%.0f of %.0f samples", 1e9 * part_s, 1e9 * all_s);
    else
        snprintf(out, MODEL_PART, "%s of %s s", NUMBER(3, part_s), NUMBER(3, all_s));
    return out;
}

/* A model to profile.json, and the schema of that file. */

enum err profile_write(const struct model *m, const char *path)
{
    struct outfile out;
    TRY(outfile_open(&out, path));
    struct jsonw w;
    jsonw_init(&w, out.stream, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", MODEL_SCHEMA);
    json_write_fields(&w, &record_model, m);
    jsonw_end(&w);
    putc('\n', out.stream);
    return outfile_commit(&out);
}

enum err profile_schema_write(const char *path)
{
    static const struct json_record *const types[] = {
#define POINTER(name, fields) &record_##name,
        MODEL_STRUCTS(POINTER)};
    const struct json_schema schema = {
        .title = "profile.json of tomoprof",
        .description =
            "Every key is always present; null means unknown or not recorded, never 0. Times in s, "
            "MB = 2^20 bytes. Made from model_fields.h.",
        .version = MODEL_SCHEMA,
        .root = &record_model,
        .types = types,
        .count = sizeof types / sizeof *types,
    };
    return json_schema_write(&schema, path);
}
