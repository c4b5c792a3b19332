/* The tables of profile.json's structs, and models without content. */
#include "base/json/tables.h"
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
