/* Stores and arrays as readers fill them, with all checks of sizes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/memory.h"
#include "host/store/codec/children.h"
#include "host/store/fetch/http.h"
#include "host/store/manifest/manifest.h"

#define CHUNKS_MOST ((int64_t)1 << 24)
#define TILES_MOST  ((int64_t)1 << 17)
#define PIECE_BYTES ((int64_t)1 << 20)
#define WHOLE_SPARE 4096

enum err store_make(const char *name, const char *format, struct store **out)
{
    struct store *s = calloc(1, sizeof *s);
    *out = NULL;
    FAIL_IF(!s, ERR_MEMORY, "%s: no memory left to open it", name);
    enum err e = arena_create(&s->arena);
    if (e) {
        free(s);
        return e;
    }
    s->name = arena_text(s->arena, name);
    s->format = format;
    s->remote = http_is_url(name);
    *out = s;
    return ERR_OK;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->close)
        s->close(s);
    codec_children_end(&s->decoders);
    for (int32_t i = 0; i < s->objects_count; i++)
        if (s->objects[i].fd >= 0)
            close(s->objects[i].fd);
    remote_free(s);
    free(s->arrays);
    free(s->objects);
    free(s->notes);
    free(s->aliases);
    arena_free(s->arena);
    free(s);
}

const char *store_text(struct store *s, const char *text)
{
    return arena_text(s->arena, text);
}

enum err store_note_add(struct store *s, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_print_list(s->arena, format, args);
    va_end(args);
    TRY(array_room(&s->notes, &s->notes_room, (size_t)s->notes_count + 1, sizeof *s->notes));
    s->notes[s->notes_count++] = (struct store_note){.name = store_text(s, name), .value = text};
    return ERR_OK;
}

enum err store_unreadable_add(struct store *s, const char *name, int64_t elements,
                              const char *format, ...)
{
    char why[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    TRY(store_note_add(s, "unreadable", "%s%s%s", name, *name ? ": " : "", why));
    s->notes[s->notes_count - 1].elements = elements;
    return ERR_OK;
}

enum err store_alias_add(struct store *s, struct store_alias alias)
{
    TRY(array_room(&s->aliases, &s->aliases_room, (size_t)s->aliases_count + 1,
                   sizeof *s->aliases));
    s->aliases[s->aliases_count++] = alias;
    return ERR_OK;
}

enum err store_array_add(struct store *s, const char *name, struct store_array **out)
{
    TRY(array_room(&s->arrays, &s->arrays_room, (size_t)s->arrays_count + 1, sizeof *s->arrays));
    struct store_array *a = arena_take(s->arena, sizeof *a);
    FAIL_IF(!a, ERR_MEMORY, "%s: no memory left for its arrays", s->name);
    a->name = store_text(s, name);
    a->slope = 1;
    for (int i = 0; i < STORE_DIMS; i++)
        a->order[i] = i;
    s->arrays[s->arrays_count++] = a;
    *out = a;
    return ERR_OK;
}

enum err store_array_check(struct store *s, struct store_array *a)
{
    int64_t bytes = a->dtype.bytes, chunk = a->dtype.bytes, count = 1;
    FAIL_IF(a->dims < 0 || a->dims > STORE_DIMS, ERR_INPUT,
            "%s: %s has %d dimensions; at most %d are read", s->name, a->name, a->dims, STORE_DIMS);
    FAIL_IF(a->dtype.bytes < 1 || a->dtype.bytes > 16, ERR_INPUT,
            "%s: %s has elements of %d bytes; numbers of 1 to 16 bytes are read", s->name, a->name,
            a->dtype.bytes);
    for (int i = 0; i < a->dims; i++) {
        FAIL_IF(a->shape[i] < 1 || __builtin_mul_overflow(bytes, a->shape[i], &bytes), ERR_INPUT,
                "%s: %s has an impossible size (dimension %d: %" PRId64 ")", s->name, a->name, i,
                a->shape[i]);
        FAIL_IF(!a->tiles &&
                    (a->chunk[i] < 1 || __builtin_mul_overflow(chunk, a->chunk[i], &chunk) ||
                     chunk > (int64_t)1 << 46),
                ERR_INPUT, "%s: %s has chunks of an impossible size (dimension %d: %" PRId64 ")",
                s->name, a->name, i, a->chunk[i]);
        if (a->tiles)
            continue;
        a->grid[i] = (a->shape[i] - 1) / a->chunk[i] + 1;
        FAIL_IF(__builtin_mul_overflow(count, a->grid[i], &count) || count > CHUNKS_MOST, ERR_INPUT,
                "%s: %s has more than %" PRId64 " chunks", s->name, a->name, CHUNKS_MOST);
    }
    FAIL_IF(bytes > INT64_MAX / 4, ERR_INPUT, "%s: %s is larger than any machine", s->name,
            a->name);
    if (!a->tiles)
        a->chunks_count = count;
    for (int p = 0; p < a->pipelines_count; p++)
        for (int i = 0; i < a->pipelines[p].count; i++) {
            char reason[CODEC_REASON];
            const enum codec codec = a->pipelines[p].step[i].codec;
            FAIL_IF(codec_missing(codec, reason, sizeof reason), ERR_UNSUPPORTED,
                    "%s: %s is compressed with %s, and %s", s->name, a->name, codec_name(codec),
                    reason);
        }
    return ERR_OK;
}

enum err store_chunks_room(struct store *s, struct store_array *a)
{
    if (a->chunks_count > 1 << 20)
        TRY(mem_require("the table of chunks", (size_t)a->chunks_count * sizeof *a->chunks, NULL));
    a->chunks = arena_take(s->arena, (size_t)a->chunks_count * sizeof *a->chunks);
    FAIL_IF(!a->chunks, ERR_MEMORY, "%s: no memory left for the %" PRId64 " chunks of %s", s->name,
            a->chunks_count, a->name);
    for (int64_t i = 0; i < a->chunks_count; i++)
        a->chunks[i].object = -1;
    return ERR_OK;
}

int64_t store_elements(const struct store_array *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->dims; i++)
        if (__builtin_mul_overflow(n, a->shape[i], &n))
            return INT64_MAX;
    return n;
}

int64_t store_bytes(const struct store_array *a, int element)
{
    int64_t n;
    return __builtin_mul_overflow(store_elements(a), element, &n) ? INT64_MAX : n;
}

void store_chunk_box(const struct store_array *a, int64_t chunk, int64_t start[STORE_DIMS],
                     int64_t shape[STORE_DIMS])
{
    for (int i = a->dims - 1; i >= 0; i--) {
        if (a->tiles) {
            start[i] = a->tiles[chunk].start[i];
            shape[i] = a->tiles[chunk].shape[i];
            continue;
        }
        start[i] = chunk % a->grid[i] * a->chunk[i];
        chunk /= a->grid[i];
        const int64_t left = a->shape[i] - start[i];
        shape[i] = a->cut_edges && left < a->chunk[i] ? left : a->chunk[i];
    }
}

void store_chunk_shape(const struct store_array *a, int64_t chunk, int64_t from[STORE_DIMS],
                       int64_t shape[STORE_DIMS])
{
    if (a->tiles && a->tiles[chunk].whole[0]) {
        memcpy(from, a->tiles[chunk].from, sizeof a->tiles[chunk].from);
        memcpy(shape, a->tiles[chunk].whole, sizeof a->tiles[chunk].whole);
        return;
    }
    store_chunk_box(a, chunk, from, shape);
    memset(from, 0, STORE_DIMS * sizeof *from);
}

int64_t store_chunk_bytes(const struct store_array *a, int64_t chunk)
{
    int64_t start[STORE_DIMS], shape[STORE_DIMS], bytes = a->dtype.bytes;
    store_chunk_shape(a, chunk, start, shape);
    for (int i = 0; i < a->dims; i++)
        bytes *= shape[i];
    return bytes;
}

/* The most that a pipeline's compressors reach. */
static int64_t ratio_most(const struct codec_pipeline *p)
{
    static const struct {
        enum codec codec;
        int64_t ratio;
    } rows[] = {{CODEC_ZLIB, 1040}, {CODEC_GZIP, 1040},    {CODEC_GZIP_PART, 1040},
                {CODEC_LZW, 4096},  {CODEC_PACKBITS, 128}, {CODEC_LZF, 264},
                {CODEC_LZ4, 264},   {CODEC_LZ4_HDF5, 264}};
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (rows[k].codec == p->step[i].codec)
                return rows[k].ratio;
    return STORE_RATIO;
}

enum err store_chunk_set(struct store *s, struct store_array *a, int64_t chunk,
                         struct store_chunk where)
{
    int64_t bytes, decoded = store_chunk_bytes(a, chunk);
    FAIL_IF(where.pipeline < 0 || where.pipeline >= a->pipelines_count, ERR_INTERNAL,
            "%s: %s: pipeline %d of %d", s->name, a->name, where.pipeline, a->pipelines_count);
    if (where.whole) {
        FAIL_IF(decoded > INT64_MAX / 2, ERR_INPUT, "%s: the chunks of %s are too large", s->name,
                a->name);
        where.stored = decoded + decoded / 8 + WHOLE_SPARE; /* what compressors add at most */
        a->chunks[chunk] = where;
        return ERR_OK;
    }
    TRY(store_object_bytes(s, where.object, &bytes));
    FAIL_IF(where.offset < 0 || where.stored < 0 || where.stored > bytes ||
                where.offset > bytes - where.stored || where.skip < 0 ||
                where.skip > INT64_MAX - decoded,
            ERR_INPUT,
            "%s: chunk %" PRId64 " of %s lies outside of its file (byte %" PRId64 ", %" PRId64
            " long, of %" PRId64 "): the file is damaged or cut short",
            s->name, chunk, a->name, where.offset, where.stored, bytes);
    const int64_t whole = decoded + where.skip;
    FAIL_IF(a->pipelines[where.pipeline].count == 0 && where.stored < whole, ERR_INPUT,
            "%s: chunk %" PRId64 " of %s has %" PRId64 " bytes; its size needs %" PRId64
            ": the file is cut short",
            s->name, chunk, a->name, where.stored, whole);
    const int64_t most = ratio_most(&a->pipelines[where.pipeline]);
    FAIL_IF(whole > STORE_SMALL && whole / most > where.stored, ERR_INPUT,
            "%s: chunk %" PRId64 " of %s claims %" PRId64 " bytes from %" PRId64
            " stored ones; more than %" PRId64 ":1 is refused",
            s->name, chunk, a->name, whole, where.stored, most);
    a->chunks[chunk] = where;
    return ERR_OK;
}

enum err store_pieces(struct store *s, struct store_array *a, int64_t most, store_where *where,
                      const void *context)
{
    int64_t piece = a->dtype.bytes, at = 0;
    for (int k = a->dims - 1; k >= 0; k--) { /* from the fastest dimension on */
        const int d = a->order[k];
        const int64_t fits = piece > 0 && piece < most ? most / piece : 1;
        a->chunk[d] = a->shape[d] < fits ? a->shape[d] : fits;
        if (__builtin_mul_overflow(piece, a->shape[d], &piece))
            piece = INT64_MAX;
    }
    a->cut_edges = 1;
    a->pipelines_count = 1;
    TRY(store_array_check(s, a));
    TRY(store_chunks_room(s, a));
    /* Chunks follow each other in the file by the slowest dimension, whatever its rank is. */
    int64_t index[STORE_DIMS] = {0};
    for (int64_t n = 0; n < a->chunks_count; n++) {
        int64_t chunk = 0;
        struct store_chunk place = {0};
        for (int i = 0; i < a->dims; i++)
            chunk = chunk * a->grid[i] + index[i];
        const int64_t bytes = store_chunk_bytes(a, chunk);
        TRY(where(s, context, at, bytes, &place));
        TRY(store_chunk_set(s, a, chunk, place));
        at += bytes;
        for (int k = a->dims - 1; k >= 0 && ++index[a->order[k]] == a->grid[a->order[k]]; k--)
            index[a->order[k]] = 0;
    }
    return ERR_OK;
}

struct file_run {
    int32_t object;
    int64_t offset;
};

static enum err where_in_run(struct store *s, const void *context, int64_t at, int64_t bytes,
                             struct store_chunk *out)
{
    const struct file_run *r = context;
    (void)s;
    *out = (struct store_chunk){.object = r->object, .offset = r->offset + at, .stored = bytes};
    return ERR_OK;
}

enum err store_contiguous(struct store *s, struct store_array *a, int32_t object, int64_t offset)
{
    const struct file_run r = {object, offset};
    return store_pieces(s, a, PIECE_BYTES, where_in_run, &r);
}

enum err store_tiles_check(struct store *s, const struct store_array *a)
{
    FAIL_IF(a->chunks_count < 0 || a->chunks_count > TILES_MOST, ERR_INPUT,
            "%s: %s has %" PRId64 " tiles; at most %" PRId64 " are read", s->name, a->name,
            a->chunks_count, TILES_MOST);
    for (int64_t i = 0; i < a->chunks_count; i++)
        for (int d = 0; d < a->dims; d++) {
            const int64_t start = a->tiles[i].start[d], n = a->tiles[i].shape[d];
            FAIL_IF(start < 0 || n < 1 || n > a->shape[d] || start > a->shape[d] - n, ERR_INPUT,
                    "%s: tile %" PRId64 " of %s lies outside of the array (dimension %d: %" PRId64
                    ", %" PRId64 " long)",
                    s->name, i, a->name, d, start, n);
            const int64_t whole = a->tiles[i].whole[d], from = a->tiles[i].from[d];
            FAIL_IF(a->tiles[i].whole[0] && (from < 0 || whole < n || from > whole - n),
                    ERR_INTERNAL, "%s: tile %" PRId64 " of %s lies outside of its chunk", s->name,
                    i, a->name);
        }
    return ERR_OK;
}

void store_dtype_name(struct store_dtype t, char out[16])
{
    const char *kind = t.kind == 'b'   ? "bool"
                       : t.kind == 'i' ? "int"
                       : t.kind == 'u' ? "uint"
                       : t.kind == 'f' ? "float"
                                       : "complex";
    if (t.kind == 'b')
        snprintf(out, 16, "%s", kind);
    else
        snprintf(out, 16, "%s%d", kind, t.bytes * 8);
}

int store_dtype_parse(const char *text, struct store_dtype *out)
{
    static const char *const known[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2",
                                        "u4", "u8", "f2", "f4", "f8", "c8", "c16"};
    *out = (struct store_dtype){0};
    if (!text[0] || !strchr("<>|=", text[0]))
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(text + 1, known[i])) {
            out->kind = known[i][0];
            out->bytes = (unsigned char)atoi(known[i] + 1);
            out->swap = text[0] == '>' && out->bytes > 1;
            return 1;
        }
    return 0;
}

/* Finds where the chunks of an array lie, once somebody asks. */

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
