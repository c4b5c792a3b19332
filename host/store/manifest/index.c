/* Finds where the chunks of an array lie, once somebody asks. */
#include <stdio.h>

#include "base/arena.h"
#include "host/store/manifest/manifest.h"

enum err store_index(struct store *s, struct store_array *a)
{
    if (a->index_box && (a->indexed || !a->chunks))
        return store_index_box(s, a, NULL, NULL);
    if (a->chunks || !a->index)
        return ERR_OK;
    enum err e = a->index(s, a);
    if (e)
        a->chunks = NULL;
    return e;
}

enum err store_index_box(struct store *s, struct store_array *a, const int64_t start[STORE_DIMS],
                         const int64_t count[STORE_DIMS])
{
    static const int64_t origin[STORE_DIMS];
    if (!a->index_box || (a->chunks && !a->indexed))
        return store_index(s, a);
    if (!a->chunks) {
        TRY(store_chunks_room(s, a));
        a->indexed = arena_take(s->arena, (size_t)a->chunks_count + 1);
        if (!a->indexed) {
            a->chunks = NULL;
            return FAIL(ERR_MEMORY, "%s: no memory left for the index of %s", s->name, a->name);
        }
    }
    TRY(a->index_box(s, a, start ? start : origin, count ? count : a->shape));
    if (!start)
        a->indexed = NULL;
    return ERR_OK;
}
