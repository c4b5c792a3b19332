/* NIfTI-1 and -2: .nii, pairs of .hdr and .img, and .nii.gz, whose blocks are found where bgzip
 * wrote them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/text.h"
#include "host/store/format/nifti.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"

#define PIECE           ((int64_t)4 << 20) /* decoded bytes of a chunk of BGZF: some 64 of its blocks */
#define HEADER          18                 /* of a BGZF block */
#define HEAD            1024               /* decoded bytes that hold a header */
#define EXTENSIONS_MOST ((int64_t)256 << 20)
#define INFLATED_MOST   1040 /* times as many bytes as are stored */

static int is_gzip(const struct reader_file *f)
{
    return f->head_bytes >= HEADER && f->head[0] == 0x1f && f->head[1] == 0x8b;
}

static int nifti_knows(const struct reader_file *f)
{
    int32_t first = 0;
    memcpy(&first, f->head, f->head_bytes < 4 ? f->head_bytes : 4);
    const int32_t swapped = (int32_t)__builtin_bswap32((uint32_t)first);
    return !f->is_folder &&
           (first == 348 || first == 540 || swapped == 348 || swapped == 540 || is_gzip(f));
}

static size_t inflate_head(const struct reader_file *f, unsigned char out[HEAD])
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)f->head,
                  .avail_in = (uInt)f->head_bytes,
                  .next_out = out,
                  .avail_out = HEAD};
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return 0;
    inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return HEAD - z.avail_out;
}

static int nifti_set_type(const struct nifti_header *h, struct store_array *a)
{
    static const struct {
        int code;
        char kind;
        unsigned char bytes;
    } types[] = {{2, 'u', 1},    {4, 'i', 2},     {8, 'i', 4},   {16, 'f', 4},  {32, 'c', 8},
                 {64, 'f', 8},   {256, 'i', 1},   {512, 'u', 2}, {768, 'u', 4}, {1024, 'i', 8},
                 {1280, 'u', 8}, {1792, 'c', 16}, {128, 'u', 1}, {2304, 'u', 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == h->datatype) {
            a->dtype.kind = types[i].kind;
            a->dtype.bytes = types[i].bytes;
            a->dtype.swap = h->big_endian && types[i].bytes > 1;
            return 1;
        }
    return 0;
}

static enum err set_array(struct store *s, struct store_array *a, const struct nifti_header *h)
{
    static const char *const axes[] = {"x", "y", "z", "t", "u", "v", "w"};
    FAIL_IF(!nifti_set_type(h, a), ERR_UNSUPPORTED,
            "%s: datatype %d (%d bits) is not read; convert it to float64", s->name, h->datatype,
            h->bits);
    const int colours = h->datatype == 128 ? 3 : h->datatype == 2304 ? 4 : 0;
    a->dims = h->dims + (colours > 0);
    for (int i = 0; i < h->dims; i++) {
        a->shape[i] = h->shape[i];
        a->axis[i] = axes[i];
        a->spacing[i] = h->spacing[i];
        a->unit[i] = nifti_unit(h->details.units, i);
        a->order[i] = h->dims - 1 - i;
    }
    if (colours) {
        a->shape[h->dims] = colours;
        a->axis[h->dims] = "c";
        a->order[h->dims] = h->dims;
    }
    a->slope = h->slope;
    a->intercept = h->intercept;
    return store_note_add(s, "version", "%d", h->version);
}

/* Offsets of blocks in the file and in what they hold. */
struct blocks {
    int64_t *file, *decoded;
    size_t count, file_room, decoded_room;
};

/* "BC" in the extra field gives a block's length; 0: not such a block. */
static int block_bytes(const unsigned char h[HEADER])
{
    if (h[0] != 0x1f || h[1] != 0x8b || h[2] != 8 || !(h[3] & 4) || h[10] != 6 || h[11] != 0 ||
        h[12] != 'B' || h[13] != 'C' || h[14] != 2 || h[15] != 0)
        return 0;
    return (h[16] | h[17] << 8) + 1;
}

/* Each read takes the size of one block's content and the next one's header. */
static enum err find_blocks(struct store *s, int32_t object, struct blocks *b)
{
    int64_t bytes, at = 0, decoded = 0;
    unsigned char ends[4 + HEADER];
    TRY(store_object_bytes(s, object, &bytes));
    TRY(store_object_read(s, object, 0, ends + 4, HEADER));
    for (;;) {
        TRY(array_room(&b->file, &b->file_room, b->count + 1, sizeof *b->file));
        TRY(array_room(&b->decoded, &b->decoded_room, b->count + 1, sizeof *b->decoded));
        b->file[b->count] = at;
        b->decoded[b->count] = decoded;
        if (at == bytes)
            return ERR_OK;
        b->count++;
        const int length = block_bytes(ends + 4);
        FAIL_IF(length < HEADER + 8 || length > bytes - at, ERR_INPUT,
                "%s: block at byte %lld is damaged", s->name, (long long)at);
        at += length;
        TRY(store_object_read(s, object, at - 4, ends, at + HEADER <= bytes ? 4 + HEADER : 4));
        FAIL_IF(at < bytes && at + HEADER > bytes, ERR_INPUT, "%s: it ends within a block",
                s->name);
        uint32_t size;
        memcpy(&size, ends, sizeof size);
        FAIL_IF(size > 65536, ERR_INPUT, "%s: a block claims %u bytes; at most 65536 are known",
                s->name, size);
        decoded += size;
    }
}

/* The block that holds decoded byte `at`. */
static size_t gzip_block_of(const struct blocks *b, int64_t at)
{
    return ARRAY_BOUND(1, b->count, i, b->decoded[i] <= at) - 1;
}

struct bgzf_place {
    const struct blocks *blocks;
    int32_t object;
    int64_t offset;
};

/* The blocks that hold these bytes of the array. */
static enum err where_in_blocks(struct store *s, const void *context, int64_t at, int64_t bytes,
                                struct store_chunk *out)
{
    const struct bgzf_place *p = context;
    const struct blocks *b = p->blocks;
    at += p->offset;
    FAIL_IF(at + bytes > b->decoded[b->count], ERR_INPUT,
            "%s: is cut short: its blocks hold %lld bytes", s->name,
            (long long)b->decoded[b->count]);
    const size_t first = gzip_block_of(b, at), last = gzip_block_of(b, at + bytes - 1);
    *out = (struct store_chunk){.object = p->object,
                                .offset = b->file[first],
                                .stored = b->file[last + 1] - b->file[first],
                                .skip = at - b->decoded[first]};
    return ERR_OK;
}

static enum err set_gzip(struct store *s, struct store_array *a, int32_t object, int64_t offset)
{
    struct blocks b = {0};
    int64_t bytes;
    unsigned char head[HEADER] = {0};
    TRY(store_object_bytes(s, object, &bytes));
    TRY(store_object_read(s, object, 0, head, (size_t)(bytes < HEADER ? bytes : HEADER)));
    a->pipelines_count = 1;
    a->pipelines[0] = (struct codec_pipeline){1, {{.codec = CODEC_GZIP_PART}}};
    if (block_bytes(head)) {
        enum err e = find_blocks(s, object, &b);
        const struct bgzf_place p = {&b, object, offset};
        if (!e)
            e = store_pieces(s, a, PIECE, where_in_blocks, &p);
        free(b.file);
        free(b.decoded);
        return e;
    }
    memcpy(a->chunk, a->shape, sizeof a->chunk);
    TRY(store_array_check(s, a));
    TRY(store_chunks_room(s, a));
    return store_chunk_set(s, a, 0,
                           (struct store_chunk){.object = object, .stored = bytes, .skip = offset});
}

/* The first `n` bytes of what a gzip file holds, or as many as there are: *got. */
static enum err inflate_first(struct store *s, int32_t object, unsigned char *out, size_t n,
                              size_t *got)
{
    unsigned char in[16384];
    int64_t bytes, at = 0;
    TRY(store_object_bytes(s, object, &bytes));
    z_stream z = {.next_out = out, .avail_out = (uInt)n};
    FAIL_IF(inflateInit2(&z, 15 + 16) != Z_OK, ERR_MEMORY, "%s: no memory left", s->name);
    enum err e = ERR_OK;
    int r = Z_OK;
    while (!e && z.avail_out && (z.avail_in || at < bytes) && (r == Z_OK || r == Z_STREAM_END)) {
        if (!z.avail_in) {
            const int64_t part = bytes - at < (int64_t)sizeof in ? bytes - at : (int64_t)sizeof in;
            e = store_object_read(s, object, at, in, (size_t)part);
            z.next_in = in;
            z.avail_in = (uInt)part;
            at += part;
        }
        if (!e && r == Z_STREAM_END) /* another member follows */
            r = inflateReset(&z);
        if (!e && r == Z_OK)
            r = inflate(&z, Z_NO_FLUSH);
    }
    *got = n - z.avail_out;
    inflateEnd(&z);
    return e;
}

/* Bytes between the header and the voxels, or the end of a .hdr. */
static enum err extension_bytes(struct store *s, const struct nifti_header *h, int32_t object,
                                int gzip, unsigned char **out, size_t *n)
{
    const int64_t begin = h->version == 1 ? 352 : 544;
    int64_t bytes, end = h->data_offset;
    TRY(store_object_bytes(s, object, &bytes));
    if (h->pair || (!gzip && end > bytes))
        end = gzip ? bytes * INFLATED_MOST : bytes;
    *n = 0;
    if (end - begin < 8)
        return ERR_OK;
    if (end > EXTENSIONS_MOST)
        return store_note_add(s, "damaged_extensions", "voxels begin at byte %lld; at most %lld",
                              (long long)end, (long long)EXTENSIONS_MOST);
    *out = malloc((size_t)end);
    FAIL_IF(!*out, ERR_MEMORY, "%s: no memory left for its extensions", s->name);
    if (gzip) {
        size_t got = 0;
        TRY(inflate_first(s, object, *out, (size_t)end, &got));
        *n = got > (size_t)begin ? got - (size_t)begin : 0;
        memmove(*out, *out + begin, *n);
        return ERR_OK;
    }
    *n = (size_t)(end - begin);
    return store_object_read(s, object, begin, *out, *n);
}

static uint32_t word_of(const unsigned char *p, int swap)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return swap ? __builtin_bswap32(v) : v;
}

/* Sizes and codes as little-endian, up to the first that cannot be: returns the bytes of whole
 * ones. */
static size_t check_extensions(unsigned char *p, size_t n, int swap, int *count)
{
    size_t at = 0;
    for (*count = 0; n - at >= 8; ++*count) {
        const uint32_t size = word_of(p + at, swap), code = word_of(p + at + 4, swap);
        if (size < 8 || size > n - at)
            break;
        memcpy(p + at, &size, 4);
        memcpy(p + at + 4, &code, 4);
        at += size;
    }
    return at;
}

static enum err read_extensions(struct store *s, struct nifti_header *h, int32_t object, int gzip)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    int count = 0;
    if (!h->extensions)
        return ERR_OK;
    enum err e = extension_bytes(s, h, object, gzip, &bytes, &n);
    const size_t whole = e ? 0 : check_extensions(bytes, n, h->big_endian, &count);
    if (whole) {
        unsigned char *copy = arena_take(s->arena, whole);
        if (copy) {
            memcpy(copy, bytes, whole);
            h->details.extensions = copy;
            h->details.extensions_bytes = (int64_t)whole;
        } else {
            e = FAIL(ERR_MEMORY, "%s: no memory left for its extensions", s->name);
        }
    }
    if (!e)
        for (size_t i = whole; i < n && !e; i++)
            if (bytes[i]) { /* zeros fill up to the voxels */
                e = store_note_add(s, "damaged_extensions", "%d can be read, the rest cannot",
                                   count);
                break;
            }
    free(bytes);
    return e;
}

/* x.hdr -> x.img, x.hdr.gz -> x.img.gz */
static void image_name(const char *path, int gzip, char *out, size_t room)
{
    size_t n = strlen(path);
    n -= gzip && text_has_suffix(path, ".gz") ? 3 : 0;
    snprintf(out, room, "%.*s.img%s", (int)(n > 4 && path[n - 4] == '.' ? n - 4 : n), path,
             gzip ? ".gz" : "");
}

static enum err nifti_fill(struct store *s, const struct reader_file *f)
{
    struct store_array *a;
    unsigned char bytes[HEAD];
    char image[4200], folder[4200];
    int32_t object;
    struct nifti_header *h = arena_take(s->arena, sizeof *h);
    FAIL_IF(!h, ERR_MEMORY, "%s: no memory left", f->path);
    const int gzip = is_gzip(f);
    size_t n = f->head_bytes < HEAD ? f->head_bytes : HEAD;
    if (gzip)
        n = inflate_head(f, bytes);
    else
        memcpy(bytes, f->head, n);
    TRY(nifti_parse(f->path, bytes, n, h));
    if (h->analyze)
        s->format = "Analyze 7.5";
    TRY(store_array_add(s, "data", &a));
    TRY(set_array(s, a, h));
    a->nifti = h;
    TRY(store_object_add(s, NULL, f->path, &object));
    TRY(read_extensions(s, h, object, gzip));
    image_name(f->path, gzip, image, sizeof image);
    if (h->pair) { /* its bytes are any file's */
        path_folder(image, folder, sizeof folder);
        TRY(store_confine(s, folder));
        TRY(store_object_add(s, NULL, image, &object));
    }
    if (gzip)
        return set_gzip(s, a, object, h->data_offset);
    return store_contiguous(s, a, object, h->data_offset);
}

static enum err nifti_open(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, "NIfTI volume", out));
    enum err e = nifti_fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

const struct reader reader_nifti = {"NIfTI volume", "NIfTI", nifti_knows, nifti_open};
