/* The JSON Schema that the tables of a format make. */
#include "base/file.h"
#include "base/json/json.h"

static void schema_reference(struct jsonw *w, const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "#/$defs/%s", name);
    jsonw_kstring(w, "$ref", path);
}

/* "type": [type, "null"] */
static void schema_nullable(struct jsonw *w, const char *type)
{
    jsonw_karray(w, "type");
    jsonw_string(w, type);
    jsonw_string(w, "null");
    jsonw_end(w);
}

static void schema_scalar(struct jsonw *w, enum json_kind kind)
{
    static const char *const types[] = {
        [JSON_TEXT] = "string",    [JSON_EXTRA] = "number",  [JSON_REAL] = "number",
        [JSON_INT] = "integer",    [JSON_INDEX] = "integer", [JSON_WORDS] = "string",
        [JSON_NUMBERS] = "number", [JSON_COUNTS] = "integer"};
    if (kind == JSON_FLAG)
        jsonw_kstring(w, "type", "boolean");
    else
        schema_nullable(w, types[kind]);
    if (kind == JSON_INDEX)
        jsonw_kint(w, "minimum", 0);
}

static void schema_required(struct jsonw *w, const struct json_record *type, int first)
{
    for (int i = first; i < type->count; i++)
        if (type->fields()[i].kind != JSON_EXTRA)
            jsonw_string(w, type->fields()[i].key);
}

static void closed_object(struct jsonw *w, const struct json_record *type, int first)
{
    jsonw_kstring(w, "type", "object");
    jsonw_kbool(w, "additionalProperties", 0);
    jsonw_karray(w, "required");
    schema_required(w, type, first);
    jsonw_end(w);
}

static void schema_columns(struct jsonw *w, const struct json_record *type)
{
    closed_object(w, type, 0);
    jsonw_kobject(w, "properties");
    for (int i = 0; i < type->count; i++) {
        const struct json_field *f = &type->fields()[i];
        jsonw_kobject(w, f->key);
        if (*f->meaning)
            jsonw_kstring(w, "description", f->meaning);
        jsonw_kstring(w, "type", "array");
        jsonw_kobject(w, "items");
        schema_scalar(w, f->kind);
        jsonw_end(w);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void schema_value(struct jsonw *w, const struct json_field *f)
{
    jsonw_object(w);
    if (*f->meaning)
        jsonw_kstring(w, "description", f->meaning);
    if (f->kind < JSON_ONE) {
        schema_scalar(w, f->kind);
    } else if (f->kind == JSON_ONE) {
        schema_reference(w, f->type->name);
    } else if (f->kind == JSON_MAYBE) {
        jsonw_karray(w, "anyOf");
        jsonw_object(w);
        schema_reference(w, f->type->name);
        jsonw_end(w);
        jsonw_object(w);
        jsonw_kstring(w, "type", "null");
        jsonw_end(w);
        jsonw_end(w);
    } else if (f->kind == JSON_TABLE) {
        schema_columns(w, f->type);
    } else if (f->kind == JSON_MAP) {
        jsonw_kstring(w, "type", "object");
        jsonw_kobject(w, "additionalProperties");
        if (f->type->count == 2)
            schema_scalar(w, f->type->fields()[1].kind);
        else
            schema_reference(w, f->type->name);
        jsonw_end(w);
    } else {
        jsonw_kstring(w, "type", "array");
        jsonw_kobject(w, "items");
        if (f->kind == JSON_LIST)
            schema_reference(w, f->type->name);
        else
            schema_scalar(w, f->kind);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void schema_properties(struct jsonw *w, const struct json_record *type, int first)
{
    for (int i = first; i < type->count; i++) {
        jsonw_key(w, type->fields()[i].key);
        schema_value(w, &type->fields()[i]);
    }
}

static int is_map_of(const struct json_record *owner, const struct json_record *type)
{
    for (int i = 0; i < owner->count; i++)
        if (owner->fields()[i].kind == JSON_MAP && owner->fields()[i].type == type)
            return 1;
    return 0;
}

/* Returns 1 where the first field is the key of a map. */
static int is_keyed(const struct json_schema *s, const struct json_record *type)
{
    int keyed = is_map_of(s->root, type);
    for (int i = 0; i < s->count; i++)
        keyed |= is_map_of(s->types[i], type);
    return keyed;
}

static void schema_definition(struct jsonw *w, const struct json_record *type, int first)
{
    jsonw_kobject(w, type->name);
    closed_object(w, type, first);
    jsonw_kobject(w, "properties");
    schema_properties(w, type, first);
    jsonw_end(w);
    jsonw_end(w);
}

static void schema_root(struct jsonw *w, const struct json_schema *s)
{
    jsonw_kstring(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jsonw_kstring(w, "title", s->title);
    jsonw_kstring(w, "description", s->description);
    jsonw_kstring(w, "type", "object");
    jsonw_kbool(w, "additionalProperties", 0);
    jsonw_karray(w, "required");
    jsonw_string(w, "schema");
    schema_required(w, s->root, 0);
    jsonw_end(w);
    jsonw_kobject(w, "properties");
    jsonw_kobject(w, "schema");
    jsonw_kstring(w, "const", s->version);
    jsonw_end(w);
    schema_properties(w, s->root, 0);
    jsonw_end(w);
}

enum err json_schema_write(const struct json_schema *s, const char *path)
{
    struct outfile out;
    TRY(outfile_open(&out, path));
    struct jsonw w;
    jsonw_init(&w, out.stream, 1);
    jsonw_object(&w);
    schema_root(&w, s);
    jsonw_kobject(&w, "$defs");
    for (int i = 0; i < s->count; i++) {
        int keyed = is_keyed(s, s->types[i]);
        if (!keyed || s->types[i]->count != 2) /* key and value need no definition */
            schema_definition(&w, s->types[i], keyed);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    return outfile_commit(&out);
}
