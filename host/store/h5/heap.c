/* Global heaps of HDF5: texts of variable length, and the mappings of virtual datasets. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/h5/parts.h"

#define HEAP_LEAST    4096 /* the format's own limit */
#define HEAP_MOST     ((uint64_t)1 << 30)
#define MAPPINGS_MOST ((uint64_t)16 << 20) /* bytes */
#define DIMS_MOST     32

enum { NONE = 0, POINTS, BOXES, ALL }; /* selections */

static uint64_t heap_number(const unsigned char *b, int bytes)
{
    struct h5_cursor c = {b, b + bytes, 0};
    return h5_take(&c, bytes);
}

enum err h5_heap_find(const struct h5_bytes *b, uint64_t at, uint64_t index, int whole,
                      int64_t *place, uint64_t *bytes)
{
    unsigned char head[16];
    const uint64_t entry = sizeof head; /* index, references, 4 unused; size, up to 8 bytes */
    FAIL_IF(at > INT64_MAX / 2, ERR_INPUT, "its heap lies beyond the file");
    TRY(b->read(b->state, (int64_t)at, head, (size_t)entry));
    FAIL_IF(memcmp(head, "GCOL\1", 5) != 0, ERR_INPUT, "byte %" PRIu64 ", where no heap is", at);
    const uint64_t all = heap_number(head + 8, b->length);
    FAIL_IF(all < HEAP_LEAST || all > HEAP_MOST, ERR_INPUT, "its heap claims %" PRIu64 " bytes",
            all);
    TRY(b->read(b->state, (int64_t)(at + all - 1), head, 1)); /* it lies in the file */
    *place = -1;
    for (uint64_t i = entry; i + entry <= all && (whole || *place < 0);) {
        TRY(b->read(b->state, (int64_t)(at + i), head, (size_t)entry));
        const uint64_t name = heap_number(head, 2), size = heap_number(head + 8, b->length),
                       room = all - i - (name ? entry : 0), rest = size % 8 ? 8 - size % 8 : 0;
        if (!name && !whole) /* the rest is free */
            break;
        /* Free space counts its own header, objects count their data alone. */
        FAIL_IF(size > room || rest > room - size || (!name && size < entry), ERR_INPUT,
                "object %" PRIu64 " of its heap claims %" PRIu64 " bytes", name, size);
        if (name && name == index) {
            *place = (int64_t)(at + i + entry);
            *bytes = size;
        }
        i += (name ? entry : 0) + size + rest;
    }
    FAIL_IF(*place < 0, ERR_INPUT, "object %" PRIu64 " of a heap that has none of this number",
            index);
    return ERR_OK;
}

/* Skips a selection: kind, version, and from then on by version. 0: it is longer than its block. */
static int selection_skip(struct h5_cursor *c)
{
    const uint64_t kind = h5_take(c, 4), version = h5_take(c, 4);
    uint64_t rank, n, bytes = 4;
    if (kind == NONE || kind == ALL) {
        h5_skip(c, 8);
        return !c->is_short;
    }
    if (kind == BOXES && version == 1) { /* any boxes: reserved, length, rank, number */
        h5_skip(c, 8);
        rank = h5_take(c, 4);
        n = 2 * h5_take(c, 4);
    } else if (kind == BOXES && version == 2) { /* regular ones: flags, length, rank */
        h5_skip(c, 5);
        rank = h5_take(c, 4);
        n = 4;
        bytes = 8;
    } else if (kind == BOXES && version == 3) {
        const uint64_t regular = h5_take(c, 1) & 1;
        bytes = h5_take(c, 1);
        rank = h5_take(c, 4);
        n = regular ? 4 : bytes <= 8 ? 2 * h5_take(c, (int)bytes) : 0;
    } else {
        return 0;
    }
    if (rank < 1 || rank > DIMS_MOST || bytes > 8 || n > MAPPINGS_MOST)
        return 0;
    h5_skip(c, n * rank * bytes);
    return !c->is_short;
}

/* Version, number; file, dataset, where it comes from, where it goes; a sum of 4 bytes. */
static enum err mappings_check(const struct h5_bytes *b, struct h5_cursor *c)
{
    const uint64_t version = h5_take(c, 1), count = h5_take(c, b->length);
    if (version) /* of newer releases */
        return ERR_OK;
    for (uint64_t i = 0; i < count; i++) {
        h5_skip_text(c, 1);
        h5_skip_text(c, 1);
        const int good = selection_skip(c) && selection_skip(c);
        FAIL_IF(!good || c->is_short, ERR_INPUT, "mapping %" PRIu64 " of %" PRIu64 " is damaged", i,
                count);
    }
    FAIL_IF(c->end - c->at < 4, ERR_INPUT, "its %" PRIu64 " mappings are cut short", count);
    return ERR_OK;
}

enum err h5_virtual_check(const struct h5_bytes *b, uint64_t heap, uint64_t index)
{
    int64_t place;
    uint64_t bytes = 0;
    if (heap == UINT64_MAX >> (64 - 8 * b->address)) /* no mappings */
        return ERR_OK;
    TRY(h5_heap_find(b, heap, index, 1, &place, &bytes));
    FAIL_IF(bytes < 5 || bytes > MAPPINGS_MOST, ERR_INPUT,
            "its mappings claim %" PRIu64 " bytes; at most %" PRIu64 " are read", bytes,
            MAPPINGS_MOST);
    unsigned char *block = malloc((size_t)bytes);
    FAIL_IF(!block, ERR_MEMORY, "no memory left for its mappings");
    enum err e = b->read(b->state, place, block, (size_t)bytes);
    struct h5_cursor c = {block, block + bytes, 0};
    if (!e)
        e = mappings_check(b, &c);
    free(block);
    return e;
}
