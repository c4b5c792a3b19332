#include <math.h>

#include "host/base/file.h"
#include "host/base/jsonw.h"
#include "profiler/analyze/model/model.h"

#define EXACT ((int64_t)1 << 53) /* beyond, a double has no place for every integer */

static void write_object(struct jsonw *w, const struct model_record *type, const void *item,
                         int first);

static void write_int(struct jsonw *w, int64_t v)
{
    if (v <= -EXACT || v >= EXACT)
        jsonw_null(w);
    else
        jsonw_int(w, v);
}

static void write_scalar(struct jsonw *w, const struct model_field *f, const void *at)
{
    switch (f->kind) {
    case MODEL_TEXT:
        jsonw_string(w, *(const char *const *)at);
        break;
    case MODEL_REAL:
        jsonw_number(w, *(const double *)at);
        break;
    case MODEL_INT:
        write_int(w, *(const int64_t *)at);
        break;
    case MODEL_INDEX:
        write_int(w, *(const int32_t *)at < 0 ? MODEL_UNKNOWN : *(const int32_t *)at);
        break;
    default:
        jsonw_bool(w, *(const int *)at);
    }
}

/* Items are `step` bytes apart; only kinds with a count come here. */
static void write_array(struct jsonw *w, const struct model_field *f, const char *items, int count)
{
    jsonw_array(w);
    for (int i = 0; i < count; i++) {
        if (f->kind == MODEL_LIST)
            write_object(w, f->type, items + (size_t)i * f->type->size, 0);
        else if (f->kind == MODEL_WORDS)
            jsonw_string(w, ((const char *const *)(const void *)items)[i]);
        else if (f->kind == MODEL_NUMBERS)
            jsonw_number(w, ((const double *)(const void *)items)[i]);
        else
            write_int(w, ((const int64_t *)(const void *)items)[i]);
    }
    jsonw_end(w);
}

static void write_table(struct jsonw *w, const struct model_record *type, const char *items,
                        int count)
{
    jsonw_object(w);
    for (int c = 0; c < type->count; c++) {
        const struct model_field *f = &type->fields()[c];
        jsonw_key(w, f->key);
        jsonw_array(w);
        for (int i = 0; i < count; i++)
            write_scalar(w, f, model_at(f, items + (size_t)i * type->size));
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void write_map(struct jsonw *w, const struct model_record *type, const char *items,
                      int count)
{
    const struct model_field *fields = type->fields();
    jsonw_object(w);
    for (int i = 0; i < count; i++) {
        const char *item = items + (size_t)i * type->size;
        const char *key = *(const char **)model_at(&fields[0], item);
        jsonw_key(w, key ? key : "");
        if (type->count == 2) /* key and value */
            write_scalar(w, &fields[1], model_at(&fields[1], item));
        else
            write_object(w, type, item, 1);
    }
    jsonw_end(w);
}

static void write_fields(struct jsonw *w, const struct model_record *type, const void *item,
                         int first)
{
    for (int i = first; i < type->count; i++) {
        const struct model_field *f = &type->fields()[i];
        const void *at = model_at(f, item);
        jsonw_key(w, f->key);
        if (f->kind < MODEL_ONE) {
            write_scalar(w, f, at);
        } else if (f->kind == MODEL_ONE) {
            write_object(w, f->type, at, 0);
        } else {
            const char *items = *(const char *const *)at;
            int count = *model_count_at(f, item);
            if (f->kind == MODEL_TABLE)
                write_table(w, f->type, items, count);
            else if (f->kind == MODEL_MAP)
                write_map(w, f->type, items, count);
            else
                write_array(w, f, items, count);
        }
    }
}

static void write_object(struct jsonw *w, const struct model_record *type, const void *item,
                         int first)
{
    jsonw_object(w);
    write_fields(w, type, item, first);
    jsonw_end(w);
}

enum err profile_write(const struct model *m, const char *path)
{
    struct outfile out;
    TRY(outfile_open(&out, path));
    struct jsonw w;
    jsonw_init(&w, out.stream, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", MODEL_SCHEMA);
    write_fields(&w, &record_model, m, 0);
    jsonw_end(&w);
    putc('\n', out.stream);
    return outfile_commit(&out);
}
