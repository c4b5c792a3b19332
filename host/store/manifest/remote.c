/* The blocks of a store's objects that were read last. */
#include <stdlib.h>
#include <string.h>

#include "host/store/fetch/http.h"
#include "host/store/manifest/manifest.h"

#define BLOCK       ((int64_t)256 << 10)
#define BLOCKS_MOST 128 /* 32 MiB */

static const struct remote_way remote_http = {http_size, http_read};
const struct remote_way *remote_way = &remote_http;

struct remote_blocks {
    struct {
        unsigned char *bytes;
        int32_t object;
        int64_t number;
    } items[BLOCKS_MOST];
    int count, next;
};

/* The block of that number. */
static enum err remote_block(struct store *s, int32_t object, int64_t number,
                             const unsigned char **out)
{
    struct remote_blocks *b = s->blocks;
    for (int i = 0; i < b->count; i++)
        if (b->items[i].object == object && b->items[i].number == number) {
            *out = b->items[i].bytes;
            return ERR_OK;
        }
    const int slot = b->next;
    if (!b->items[slot].bytes) {
        b->items[slot].bytes = malloc((size_t)BLOCK);
        FAIL_IF(!b->items[slot].bytes, ERR_MEMORY, "%s: no memory left to open it", s->name);
        b->count++;
    }
    b->next = (slot + 1) % BLOCKS_MOST;
    b->items[slot].object = -1;
    const int64_t at = number * BLOCK, left = s->objects[object].bytes - at;
    TRY(remote_way->read(s->objects[object].name, at, b->items[slot].bytes,
                         (size_t)(left < BLOCK ? left : BLOCK)));
    b->items[slot].object = object;
    b->items[slot].number = number;
    *out = b->items[slot].bytes;
    return ERR_OK;
}

enum err remote_read(struct store *s, int32_t object, int64_t offset, void *to, size_t n)
{
    if ((int64_t)n >= BLOCK)
        return remote_way->read(s->objects[object].name, offset, to, n);
    if (!s->blocks)
        s->blocks = calloc(1, sizeof *s->blocks);
    FAIL_IF(!s->blocks, ERR_MEMORY, "%s: no memory left to open it", s->name);
    for (size_t done = 0, part; done < n; done += part) {
        const int64_t at = offset + (int64_t)done, in = at % BLOCK;
        const unsigned char *from = NULL;
        part = (size_t)(BLOCK - in) < n - done ? (size_t)(BLOCK - in) : n - done;
        TRY(remote_block(s, object, at / BLOCK, &from));
        memcpy((char *)to + done, from + in, part);
    }
    return ERR_OK;
}

enum err remote_text(const char *url, size_t most, char **out)
{
    int64_t bytes;
    *out = NULL;
    TRY(remote_way->size(url, &bytes));
    if (bytes < 0)
        return ERR_OK;
    FAIL_IF(bytes > (int64_t)most, ERR_INPUT, "%s: is too large for metadata", url);
    *out = calloc(1, (size_t)bytes + 1);
    FAIL_IF(!*out, ERR_MEMORY, "%s: no memory left to read it", url);
    enum err e = remote_way->read(url, 0, *out, (size_t)bytes);
    if (e) {
        free(*out);
        *out = NULL;
    }
    return e;
}

void remote_free(struct store *s)
{
    for (int i = 0; s->blocks && i < BLOCKS_MOST; i++)
        free(s->blocks->items[i].bytes);
    free(s->blocks);
}
