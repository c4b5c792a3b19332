/* Compares the free space of a disk with what an array claims, before anything is written. */
#include "base/file.h"
#include "base/memory.h"
#include "host/store/writer/writer.h"

/* Deflate makes at most 1,032 bytes of one: a file that stores less than this part of what it claims
 * holds fill values nearly everywhere, or was made to claim. An empty Zarr of 300 bytes claims 9 TiB,
 * and compressing those takes hours. */
#define CLAIM_MOST 1000

/* Adds up what the chunks of an array take in its files; behind a URL, what it may send at most. */
static enum err space_stored(struct store *s, struct store_array *a, int64_t *stored)
{
    *stored = 0;
    TRY(store_index(s, a));
    for (int64_t i = 0; i < a->chunks_count; i++)
        if (a->chunks[i].object >= 0 &&
            __builtin_add_overflow(*stored, a->chunks[i].stored, stored))
            *stored = INT64_MAX;
    return ERR_OK;
}

enum err writer_require_space(struct store *s, struct store_array *a, const char *path,
                              int64_t bytes, int compresses)
{
    const enum err e = file_require_space(path, bytes);
    int64_t stored;
    char held[16];
    if (!e || !compresses)
        return e;
    TRY(space_stored(s, a, &stored));
    return stored >= bytes / CLAIM_MOST
               ? ERR_OK
               : err_prefix(file_require_space(path, bytes), "%s stores %s of what it claims",
                            s->name, mem_human((double)stored, held));
}
