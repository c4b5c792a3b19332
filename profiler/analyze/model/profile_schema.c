#include <string.h>

#include "host/base/file.h"
#include "host/base/jsonw.h"
#include "profiler/analyze/model/model.h"

static void reference(struct jsonw *w, const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "#/$defs/%s", name);
    jsonw_kstring(w, "$ref", path);
}

/* "type": [type, "null"] */
static void nullable(struct jsonw *w, const char *type)
{
    jsonw_key(w, "type");
    jsonw_array(w);
    jsonw_string(w, type);
    jsonw_string(w, "null");
    jsonw_end(w);
}

static void scalar(struct jsonw *w, enum model_kind kind)
{
    static const char *const types[] = {
        [MODEL_TEXT] = "string",   [MODEL_REAL] = "number",  [MODEL_INT] = "integer",
        [MODEL_INDEX] = "integer", [MODEL_WORDS] = "string", [MODEL_NUMBERS] = "number",
        [MODEL_COUNTS] = "integer"};
    if (kind == MODEL_FLAG)
        jsonw_kstring(w, "type", "boolean");
    else
        nullable(w, types[kind]);
    if (kind == MODEL_INDEX)
        jsonw_kint(w, "minimum", 0);
}

static void closed_object(struct jsonw *w, const struct model_record *type, int first)
{
    jsonw_kstring(w, "type", "object");
    jsonw_kbool(w, "additionalProperties", 0);
    jsonw_key(w, "required");
    jsonw_array(w);
    for (int i = first; i < type->count; i++)
        jsonw_string(w, type->fields()[i].key);
    jsonw_end(w);
}

static void columns(struct jsonw *w, const struct model_record *type)
{
    closed_object(w, type, 0);
    jsonw_key(w, "properties");
    jsonw_object(w);
    for (int i = 0; i < type->count; i++) {
        const struct model_field *f = &type->fields()[i];
        jsonw_key(w, f->key);
        jsonw_object(w);
        if (*f->meaning)
            jsonw_kstring(w, "description", f->meaning);
        jsonw_kstring(w, "type", "array");
        jsonw_key(w, "items");
        jsonw_object(w);
        scalar(w, f->kind);
        jsonw_end(w);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void value(struct jsonw *w, const struct model_field *f)
{
    jsonw_object(w);
    if (*f->meaning)
        jsonw_kstring(w, "description", f->meaning);
    if (f->kind < MODEL_ONE) {
        scalar(w, f->kind);
    } else if (f->kind == MODEL_ONE) {
        reference(w, f->type->name);
    } else if (f->kind == MODEL_TABLE) {
        columns(w, f->type);
    } else if (f->kind == MODEL_MAP) {
        jsonw_kstring(w, "type", "object");
        jsonw_key(w, "additionalProperties");
        jsonw_object(w);
        if (f->type->count == 2)
            scalar(w, f->type->fields()[1].kind);
        else
            reference(w, f->type->name);
        jsonw_end(w);
    } else {
        jsonw_kstring(w, "type", "array");
        jsonw_key(w, "items");
        jsonw_object(w);
        if (f->kind == MODEL_LIST)
            reference(w, f->type->name);
        else
            scalar(w, f->kind);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void properties(struct jsonw *w, const struct model_record *type, int first)
{
    for (int i = first; i < type->count; i++) {
        jsonw_key(w, type->fields()[i].key);
        value(w, &type->fields()[i]);
    }
}

static void definition(struct jsonw *w, const struct model_record *type)
{
    int first = type == &record_model_file; /* its path is the key of the map */
    jsonw_key(w, type->name);
    jsonw_object(w);
    closed_object(w, type, first);
    jsonw_key(w, "properties");
    jsonw_object(w);
    properties(w, type, first);
    jsonw_end(w);
    jsonw_end(w);
}

static void root(struct jsonw *w)
{
    jsonw_kstring(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jsonw_kstring(w, "title", "profile.json of tomoprof");
    jsonw_kstring(w, "description",
                  "Every key is always present; null means unknown or not recorded, never 0. Times "
                  "in s, MB = 2^20 "
                  "bytes. Made from model_fields.h.");
    jsonw_kstring(w, "type", "object");
    jsonw_kbool(w, "additionalProperties", 0);
    jsonw_key(w, "required");
    jsonw_array(w);
    jsonw_string(w, "schema");
    for (int i = 0; i < record_model.count; i++)
        jsonw_string(w, record_model.fields()[i].key);
    jsonw_end(w);
    jsonw_key(w, "properties");
    jsonw_object(w);
    jsonw_key(w, "schema");
    jsonw_object(w);
    jsonw_kstring(w, "const", MODEL_SCHEMA);
    jsonw_end(w);
    properties(w, &record_model, 0);
    jsonw_end(w);
}

enum err profile_schema_write(const char *path)
{
    static const struct model_record *const types[] = {
#define POINTER(name, fields) &record_##name,
        MODEL_STRUCTS(POINTER)};
    struct outfile out;
    TRY(outfile_open(&out, path));
    struct jsonw w;
    jsonw_init(&w, out.stream, 1);
    jsonw_object(&w);
    root(&w);
    jsonw_key(&w, "$defs");
    jsonw_object(&w);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i]->count != 2 || types[i] != &record_model_fact)
            definition(&w, types[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    return outfile_commit(&out);
}
