/* Locates the chunks of Zarr arrays: a key for each, or a table in each shard. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/store/codec/codecs.h"
#include "host/store/fetch/http.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/zarr.h"

#define MISSING UINT64_MAX

static void zarr_chunk_key(const struct store_array *a, const struct zarr_array *z,
                           const int64_t at[STORE_DIMS], char *out, size_t room)
{
    snprintf(out, room, "%s%s", z->prefix, z->v3_keys ? "c" : "");
    for (int i = 0; i < a->dims; i++)
        text_append(out, room, "%.*s%lld", z->v3_keys || i, &z->separator, (long long)at[i]);
    if (a->dims == 0 && !z->v3_keys)
        text_append(out, room, "0");
}

static enum err shard_read_table(struct store *s, const struct store_array *a,
                                 const struct zarr_array *z, const struct store_chunk *where,
                                 int64_t entries, uint64_t *table)
{
    const int64_t bytes = entries * 16, whole = bytes + (z->index_sum ? 4 : 0);
    uint32_t sum = 0;
    FAIL_IF(where->stored < whole, ERR_INPUT, "%s: a shard of %s is cut short", s->name, a->name);
    const int64_t at = where->offset + (z->index_first ? 0 : where->stored - whole);
    TRY(store_object_read(s, where->object, at, table, (size_t)bytes));
    if (!z->index_sum)
        return ERR_OK;
    TRY(store_object_read(s, where->object, at + bytes, &sum, sizeof sum));
    FAIL_IF(sum != crc32c(table, (size_t)bytes), ERR_INPUT,
            "%s: the index of a shard of %s is damaged (its checksum differs)", s->name, a->name);
    return ERR_OK;
}

/* Sets the chunks of the shard at `shard` (in shards). */
static enum err set_shard(struct store *s, struct store_array *a, const struct store_chunk *where,
                          const int64_t shard[STORE_DIMS], const uint64_t *table)
{
    const struct zarr_array *z = a->reader;
    int64_t in[STORE_DIMS] = {0}, per[STORE_DIMS], entries = 1;
    for (int d = 0; d < a->dims; d++) {
        per[d] = z->shard[d] / a->chunk[d];
        entries *= per[d];
    }
    for (int64_t n = 0; n < entries; n++) {
        int64_t chunk = 0;
        int inside = 1;
        for (int d = 0; d < a->dims; d++) {
            const int64_t at = shard[d] * per[d] + in[d];
            inside &= at < a->grid[d];
            chunk = chunk * a->grid[d] + at;
        }
        const uint64_t offset = table[2 * n], bytes = table[2 * n + 1];
        if (inside && !(offset == MISSING && bytes == MISSING)) {
            FAIL_IF(offset > (uint64_t)where->stored || bytes > (uint64_t)where->stored - offset,
                    ERR_INPUT, "%s: a chunk of %s lies outside of its shard", s->name, a->name);
            TRY(store_chunk_set(s, a, chunk,
                                (struct store_chunk){.object = where->object,
                                                     .offset = where->offset + (int64_t)offset,
                                                     .stored = (int64_t)bytes}));
        }
        for (int d = a->dims - 1; d >= 0 && ++in[d] == per[d]; d--)
            in[d] = 0;
    }
    return ERR_OK;
}

/* Finds the size of a shard behind a URL, or that it is missing: its table is at its end. */
static enum err shard_size(struct store *s, struct store_chunk *where)
{
    struct store_object *o = &s->objects[where->object];
    where->whole = 0;
    TRY(http_size(o->name, &o->bytes));
    where->stored = o->bytes;
    if (o->bytes < 0)
        where->object = -1;
    return ERR_OK;
}

/* Returns the first chunk of the object at `at`: a chunk, or a shard. */
static int64_t first_chunk(const struct store_array *a, const struct zarr_array *z,
                           const int64_t at[STORE_DIMS])
{
    int64_t chunk = 0;
    for (int d = 0; d < a->dims; d++)
        chunk = chunk * a->grid[d] + at[d] * (z->sharded ? z->shard[d] / a->chunk[d] : 1);
    return chunk;
}

/* Makes the second pipeline, which undoes what the archive did first. */
static enum err deflated_pipeline(struct store *s, struct store_array *a)
{
    const struct codec_pipeline *from = &a->pipelines[0];
    struct codec_pipeline *to = &a->pipelines[ZARR_DEFLATED];
    const struct zarr_array *z = a->reader;
    FAIL_IF(z->sharded || from->count == CODEC_STEPS, ERR_UNSUPPORTED,
            "%s: its chunks are compressed by ZIP too; write it again with zip -0", s->name);
    *to = (struct codec_pipeline){1 + from->count, {{.codec = CODEC_DEFLATE}}};
    memcpy(to->step + 1, from->step, (size_t)from->count * sizeof *to->step);
    a->pipelines_count = ZARR_DEFLATED + 1;
    return ERR_OK;
}

static enum err index_object(struct store *s, struct store_array *a, const int64_t at[STORE_DIMS],
                             int64_t entries, uint64_t *table)
{
    const struct zarr_array *z = a->reader;
    struct store_chunk where = {.object = -1};
    char key[4096];
    zarr_chunk_key(a, z, at, key, sizeof key);
    TRY(z->keys->place(s, z->keys->state, key, &where));
    if (where.whole && z->sharded)
        TRY(shard_size(s, &where));
    if (where.object < 0)
        return ERR_OK;
    if (where.pipeline && a->pipelines_count == ZARR_DEFLATED)
        TRY(deflated_pipeline(s, a));
    if (!z->sharded)
        return store_chunk_set(s, a, first_chunk(a, z, at), where);
    TRY(shard_read_table(s, a, z, &where, entries, table));
    return set_shard(s, a, &where, at, table);
}

/* Lists objects: chunks, or shards with a table of chunks each. Those of the box that were not
 * asked for before. */
enum err zarr_index(struct store *s, struct store_array *a, const int64_t start[STORE_DIMS],
                    const int64_t count[STORE_DIMS])
{
    const struct zarr_array *z = a->reader;
    int64_t at[STORE_DIMS] = {0}, low[STORE_DIMS], end[STORE_DIMS], objects = 1, entries = 1;
    uint64_t *table = NULL;
    for (int d = 0; d < a->dims; d++) {
        const int64_t size = z->sharded ? z->shard[d] : a->chunk[d];
        at[d] = low[d] = start[d] / size;
        end[d] = (start[d] + count[d] - 1) / size + 1;
        objects *= end[d] - low[d];
        const int64_t inner = z->sharded ? z->shard[d] / a->chunk[d] : 1;
        FAIL_IF(__builtin_mul_overflow(entries, inner, &entries) || entries > (int64_t)1 << 26,
                ERR_INPUT, "%s: a shard of %s has too many chunks", s->name, a->name);
    }
    if (z->sharded && !(table = malloc((size_t)entries * 16)))
        return FAIL(ERR_MEMORY, "%s: no memory left for the index of %s", s->name, a->name);
    enum err e = ERR_OK;
    for (int64_t n = 0; n < objects && !e; n++) {
        unsigned char *indexed = a->indexed + first_chunk(a, z, at);
        if (!*indexed) {
            e = index_object(s, a, at, entries, table);
            *indexed = !e;
        }
        for (int d = a->dims - 1; d >= 0 && ++at[d] == end[d]; d--)
            at[d] = low[d];
    }
    free(table);
    return e;
}
