/* The tables of loading.json's structs, and the file. */
#include "base/file.h"
#include "base/json/tables.h"
#include "host/load/loading.h"

LOADING_STRUCTS(JSON_RECORD)
JSON_RECORD(loading, LOADING_FIELDS)

enum err loading_create(struct loading **out)
{
    struct arena *arena;
    *out = NULL;
    TRY(arena_create(&arena));
    struct loading *l = arena_take(arena, sizeof *l);
    if (!l) {
        arena_free(arena);
        return FAIL(ERR_MEMORY, "no memory left for the times");
    }
    json_blank(&record_loading, l);
    l->arena = arena;
    *out = l;
    return ERR_OK;
}

void loading_free(struct loading *l)
{
    if (l)
        arena_free(l->arena);
}

enum err loading_write(const struct loading *l, const char *path)
{
    struct outfile f;
    struct jsonw w;
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 1);
    loading_json(l, &w);
    return outfile_commit(&f);
}

void loading_json(const struct loading *l, struct jsonw *w)
{
    jsonw_object(w);
    jsonw_kstring(w, "schema", LOADING_SCHEMA);
    json_write_fields(w, &record_loading, l);
    jsonw_end(w);
}

enum err loading_schema_write(const char *path)
{
    static const struct json_record *const types[] = {
#define X(name, fields) &record_##name,
        LOADING_STRUCTS(X)
#undef X
    };
    const struct json_schema s = {"loading.json", "Where the time of loading an array goes",
                                  LOADING_SCHEMA, &record_loading,
                                  types,          sizeof types / sizeof *types};
    return json_schema_write(&s, path);
}
