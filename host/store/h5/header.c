/* Headers of HDF5 objects: versions 1 and 2, their messages and continuations. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/store/h5/parts.h"

#define PIECES_MOST 1024 /* a header and its continuations */
#define PIECE_MOST  ((uint64_t)16 << 20)
#define DIMS_MOST   32
#define SHARED      2 /* flag of a message that lies elsewhere */
#define DEPTH_MOST  2 /* shared types of shared types */

enum { SPACE = 1, TYPE = 3, OLD_FILL = 4, FILL = 5, LAYOUT = 8, FILTERS = 11, ATTRIBUTE = 12 };
#define CONTINUATION 16

struct header_piece {
    uint64_t at, bytes;
};

struct header {
    const struct h5_bytes *b;
    int version, flags, depth;
    struct header_piece *pieces;
    size_t count, room;
    struct h5_type type; /* class -1: none, or not known */
    int rank;            /* -1: none */
    int chunk_dims;      /* with that of an element; 0: none */
    int64_t fill[2];     /* bytes, of the new message and of the old one; 0: none */
};

static enum err space_check(const struct h5_bytes *b, struct h5_cursor *c, int *rank,
                            uint64_t *elements)
{
    const int version = (int)h5_take(c, 1);
    const uint64_t dims = h5_take(c, 1), flags = h5_take(c, 1);
    *rank = -1;
    *elements = 0;
    if (version < 1 || version > 2)
        return ERR_OK;
    const uint64_t kind = h5_take(c, version == 1 ? 5 : 1);
    FAIL_IF(dims > DIMS_MOST, ERR_INPUT, "a shape of %" PRIu64 " dimensions", dims);
    *elements = version == 2 && kind == 2 ? 0 : 1;
    for (uint64_t i = 0; i < dims; i++)
        if (__builtin_mul_overflow(*elements, h5_take(c, b->length), elements))
            *elements = UINT64_MAX;
    h5_skip(c, flags & 1 ? dims * (uint64_t)b->length : 0);
    FAIL_IF(c->is_short, ERR_INPUT, "a shape that ends before its last dimension");
    *rank = (int)dims;
    return ERR_OK;
}

static enum err fill_check(struct header *h, struct h5_cursor *c, int is_old)
{
    int there = is_old;
    if (!is_old) {
        const int version = (int)h5_take(c, 1), times = (int)h5_take(c, version < 3 ? 2 : 1),
                  given = version < 3 ? (int)h5_take(c, 1) : (times & 32) != 0;
        if (version < 1 || version > 3)
            return ERR_OK;
        there = given || version == 1;
    }
    if (!there)
        return ERR_OK;
    const int32_t bytes = (int32_t)h5_take(c, 4);
    FAIL_IF(bytes < -1, ERR_INPUT, "a fill value of %" PRId32 " bytes", bytes);
    h5_skip(c, bytes > 0 ? (uint64_t)bytes : 0);
    FAIL_IF(c->is_short, ERR_INPUT, "a fill value of %" PRId32 " bytes that it does not hold",
            bytes);
    h->fill[is_old] = bytes > 0 ? bytes : 0;
    return ERR_OK;
}

static enum err filters_check(struct h5_cursor *c)
{
    const int version = (int)h5_take(c, 1);
    const uint64_t count = h5_take(c, 1);
    if (version < 1 || version > 2)
        return ERR_OK;
    h5_skip(c, version == 1 ? 6 : 0);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t filter = h5_take(c, 2),
                       name = version == 1 || filter >= 256 ? h5_take(c, 2) : 0;
        h5_skip(c, 2);
        const uint64_t values = h5_take(c, 2);
        h5_skip(c, version == 1 ? (name + 7) / 8 * 8 : name);
        h5_skip(c, 4 * (values + (version == 1 && values % 2)));
    }
    FAIL_IF(c->is_short, ERR_INPUT, "%" PRIu64 " filters that it does not hold", count);
    return ERR_OK;
}

/* Chunks: their sizes, and from version 4 on what their index needs. */
static enum err chunks_check(struct header *h, struct h5_cursor *c, int version)
{
    const uint64_t flags = version == 4 ? h5_take(c, 1) : 0, dims = h5_take(c, 1);
    FAIL_IF(dims < 1 || dims > DIMS_MOST + 1, ERR_INPUT, "chunks of %" PRIu64 " dimensions", dims);
    if (version < 4)
        h5_skip(c, (uint64_t)h->b->address);
    const uint64_t width = version == 4 ? h5_take(c, 1) : 4;
    FAIL_IF(width < 1 || width > 8, ERR_INPUT, "sizes of chunks of %" PRIu64 " bytes", width);
    for (uint64_t i = 0; i < dims; i++)
        FAIL_IF(!h5_take(c, (int)width) && !c->is_short, ERR_INPUT, "chunks of no elements");
    if (version == 4) {
        const uint64_t index = h5_take(c, 1);
        h5_skip(c, index == 1 && flags & 2 ? (uint64_t)h->b->length + 4
                   : index == 3            ? 1
                   : index == 4            ? 5
                   : index == 5            ? 6
                                           : 0);
        h5_skip(c, (uint64_t)h->b->address);
    }
    h->chunk_dims = (int)dims;
    return ERR_OK;
}

/* Checks versions 1 and 2: one form for all kinds. */
static enum err old_layout_check(struct header *h, struct h5_cursor *c)
{
    const uint64_t dims = h5_take(c, 1), kind = h5_take(c, 1);
    FAIL_IF(dims < 1 || dims > DIMS_MOST + 1, ERR_INPUT, "a layout of %" PRIu64 " dimensions",
            dims);
    h5_skip(c, 5 + (kind ? (uint64_t)h->b->address : 0));
    for (uint64_t i = 0; i < dims; i++)
        FAIL_IF(!h5_take(c, 4) && kind == 2 && !c->is_short, ERR_INPUT, "chunks of no elements");
    h5_skip(c, kind ? 0 : h5_take(c, 4));
    h->chunk_dims = kind == 2 ? (int)dims : 0;
    return ERR_OK;
}

static enum err layout_check(struct header *h, struct h5_cursor *c)
{
    enum { COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL };
    const int version = (int)h5_take(c, 1);
    enum err e = ERR_OK;
    if (version < 1 || version > 4)
        return ERR_OK;
    if (version < 3) {
        e = old_layout_check(h, c);
    } else {
        const uint64_t kind = h5_take(c, 1);
        if (kind == COMPACT) {
            h5_skip(c, h5_take(c, 2));
        } else if (kind == CONTIGUOUS) {
            h5_skip(c, (uint64_t)(h->b->address + h->b->length));
        } else if (kind == CHUNKED) {
            e = chunks_check(h, c, version);
        } else if (kind == VIRTUAL && version == 4) {
            const uint64_t heap = h5_take(c, h->b->address), index = h5_take(c, 4);
            e = c->is_short ? ERR_OK : h5_virtual_check(h->b, heap, index);
        }
    }
    FAIL_IF(!e && c->is_short, ERR_INPUT, "a layout that ends early");
    return e;
}

/* Takes a part of an attribute, whose place is by version filled up to 8 bytes. */
static struct h5_cursor attribute_part(struct h5_cursor *c, int version, uint64_t bytes)
{
    struct h5_cursor out = {c->at, c->at, 0};
    h5_skip(c, version == 1 ? (bytes + 7) / 8 * 8 : bytes);
    if (!c->is_short)
        out.end += bytes;
    return out;
}

static enum err attribute_check(const struct header *h, struct h5_cursor *c)
{
    const int version = (int)h5_take(c, 1), flags = (int)h5_take(c, 1);
    if (version < 1 || version > 3)
        return ERR_OK;
    const uint64_t name = h5_take(c, 2), type = h5_take(c, 2), space = h5_take(c, 2);
    h5_skip(c, version == 3);
    const struct h5_cursor text = attribute_part(c, version, name);
    struct h5_cursor types = attribute_part(c, version, type),
                     spaces = attribute_part(c, version, space);
    FAIL_IF(c->is_short || !name || !memchr(text.at, 0, (size_t)name), ERR_INPUT,
            "an attribute that ends early");
    struct h5_type t = {.class = -1};
    int rank = -1;
    uint64_t elements = 0;
    if (version == 1 || !(flags & 1))
        TRY(h5_type_check(&types, &t));
    if (version == 1 || !(flags & 2))
        TRY(space_check(h->b, &spaces, &rank, &elements));
    FAIL_IF(t.class >= 0 && rank >= 0 &&
                (__builtin_mul_overflow(elements, t.bytes, &elements) ||
                 elements > (uint64_t)(c->end - c->at)),
            ERR_INPUT, "attribute %.60s, whose value it does not hold", (const char *)text.at);
    return ERR_OK;
}

static enum err object_check(const struct h5_bytes *b, uint64_t address, int depth,
                             struct h5_type *type);

/* A data type that other objects have, too. */
static enum err shared_check(const struct header *h, struct h5_cursor *c, struct h5_type *out)
{
    const uint64_t version = h5_take(c, 1), kind = h5_take(c, 1);
    if (version == 1)
        h5_skip(c, 6);
    if (version < 1 || version > 3 || (version == 3 && kind != 2) || h->depth == DEPTH_MOST)
        return ERR_OK;
    const uint64_t at = h5_take(c, h->b->address);
    return c->is_short ? FAIL(ERR_INPUT, "a shared type that ends early")
                       : object_check(h->b, at, h->depth + 1, out);
}

static enum err message_check(struct header *h, int kind, int flags, struct h5_cursor c)
{
    uint64_t unused;
    if (flags & SHARED)
        return kind == TYPE ? shared_check(h, &c, &h->type) : ERR_OK;
    switch (kind) {
    case SPACE:
        return space_check(h->b, &c, &h->rank, &unused);
    case TYPE:
        return h5_type_check(&c, &h->type);
    case OLD_FILL:
    case FILL:
        return fill_check(h, &c, kind == OLD_FILL);
    case LAYOUT:
        return layout_check(h, &c);
    case FILTERS:
        return filters_check(&c);
    case ATTRIBUTE:
        return attribute_check(h, &c);
    case CONTINUATION: {
        const uint64_t at = h5_take(&c, h->b->address), bytes = h5_take(&c, h->b->length);
        FAIL_IF(c.is_short || h->count == PIECES_MOST, ERR_INPUT,
                "more than %d pieces, or one that ends early", PIECES_MOST);
        TRY(array_room(&h->pieces, &h->room, h->count + 1, sizeof *h->pieces));
        h->pieces[h->count++] = (struct header_piece){at, bytes};
        return ERR_OK;
    }
    default:
        return ERR_OK;
    }
}

/* Messages of a piece, which has a signature and a sum from version 2 on. */
static enum err messages_check(struct header *h, struct h5_cursor c)
{
    const int head = h->version == 1 ? 8 : 4 + (h->flags & 4 ? 2 : 0);
    while (c.end - c.at >= head) {
        const int kind = (int)h5_take(&c, h->version == 1 ? 2 : 1);
        const uint64_t bytes = h5_take(&c, 2);
        const int flags = (int)h5_take(&c, 1);
        h5_skip(&c, (uint64_t)(h->version == 1 ? 3 : head - 4));
        FAIL_IF(bytes > (uint64_t)(c.end - c.at), ERR_INPUT,
                "a message of %" PRIu64 " bytes that it does not hold", bytes);
        TRY(message_check(h, kind, flags, (struct h5_cursor){c.at, c.at + bytes, 0}));
        c.at += bytes;
    }
    return ERR_OK;
}

static enum err piece_check(struct header *h, size_t i)
{
    const struct header_piece p = h->pieces[i];
    const size_t before = h->version == 1 || !i ? 0 : 4, after = h->version == 1 ? 0 : 4;
    FAIL_IF(p.at > INT64_MAX / 2 || p.bytes > PIECE_MOST || p.bytes < before + after, ERR_INPUT,
            "a piece of %" PRIu64 " bytes at byte %" PRIu64, p.bytes, p.at);
    unsigned char *all = malloc((size_t)p.bytes + 1);
    FAIL_IF(!all, ERR_MEMORY, "no memory left for a header");
    enum err e = h->b->read(h->b->state, (int64_t)p.at, all, (size_t)p.bytes);
    if (!e)
        e = messages_check(h, (struct h5_cursor){all + before, all + p.bytes - after, 0});
    free(all);
    return e;
}

/* Finds the first piece. */
static enum err header_first(struct header *h, uint64_t address)
{
    unsigned char head[40] = {0};
    FAIL_IF(address > INT64_MAX / 2, ERR_INPUT, "an object at byte %" PRIu64, address);
    TRY(h->b->read(h->b->state, (int64_t)address, head, 16));
    struct h5_cursor c = {head, head + sizeof head, 0};
    struct header_piece *first = &h->pieces[0];
    h->count = 1;
    if (head[0] == 1) {
        h->version = 1;
        h5_skip(&c, 8);
        *first = (struct header_piece){address + 16, h5_take(&c, 4)};
        return ERR_OK;
    }
    FAIL_IF(memcmp(head, "OHDR\2", 5) != 0, ERR_INPUT, "byte %" PRIu64 ", where no object begins",
            address);
    h->version = 2;
    h->flags = head[5];
    h5_skip(&c, 6 + (h->flags & 32 ? 16 : 0) + (h->flags & 16 ? 4 : 0));
    const uint64_t before = (uint64_t)(c.at - head) + (1U << (h->flags & 3));
    TRY(h->b->read(h->b->state, (int64_t)address, head, (size_t)before));
    first->bytes = h5_take(&c, 1 << (h->flags & 3));
    first->at = address + before;
    FAIL_IF(first->bytes > PIECE_MOST, ERR_INPUT, "a header of %" PRIu64 " bytes", first->bytes);
    first->bytes += 4; /* its sum */
    return ERR_OK;
}

static enum err object_check(const struct h5_bytes *b, uint64_t address, int depth,
                             struct h5_type *type)
{
    struct header h = {.b = b, .depth = depth, .type = {.class = -1}, .rank = -1};
    TRY(array_room(&h.pieces, &h.room, 1, sizeof *h.pieces));
    enum err e = header_first(&h, address);
    for (size_t i = 0; i < h.count && !e; i++)
        e = piece_check(&h, i);
    free(h.pieces);
    TRY(e);
    const int is_number = h.type.class == H5_CLASS_INTEGER || h.type.class == H5_CLASS_FLOAT ||
                          h.type.class == H5_CLASS_ENUM;
    for (int i = 0; i < 2; i++)
        FAIL_IF(is_number && h.fill[i] && (uint64_t)h.fill[i] != h.type.bytes, ERR_INPUT,
                "a fill value of %" PRId64 " bytes for elements of %" PRIu64, h.fill[i],
                h.type.bytes);
    FAIL_IF(h.rank >= 0 && h.chunk_dims && h.chunk_dims != h.rank + 1, ERR_INPUT,
            "chunks of %d dimensions for a shape of %d", h.chunk_dims - 1, h.rank);
    *type = h.type;
    return ERR_OK;
}

enum err h5_object_check(const struct h5_bytes *b, uint64_t address)
{
    struct h5_type unused;
    return object_check(b, address, 0, &unused);
}

enum err h5_bytes_sizes(struct h5_bytes *b)
{
    unsigned char head[16];
    TRY(b->read(b->state, 0, head, sizeof head));
    const int at = head[8] < 2 ? 13 : 9; /* by the version of the superblock */
    b->address = head[at];
    b->length = head[at + 1];
    FAIL_IF(memcmp(head, "\x89HDF\r\n\x1a\n", 8) != 0 || b->address < 2 || b->address > 8 ||
                b->length < 2 || b->length > 8,
            ERR_INPUT, "its superblock is damaged");
    return ERR_OK;
}
