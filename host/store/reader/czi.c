/* Zeiss CZI: the directory of sub-blocks becomes mosaics of tiles, one for each scene and level;
 * nothing but the directory is read to open a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "host/store/format/xml.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"

#define ENTRY_DIMS   16
#define ENTRIES_MOST (1 << 20)
#define ARRAYS_MOST  256
#define XML_MOST     (64 << 20)
#define NAMES_MOST   1024 /* of channels */

/* A mosaic may have these dimensions beside Y and X, the slowest first. */
static const char plane_dims[] = "TRIHVBCZ";
#define PLANE_DIMS (int)(sizeof plane_dims - 1)

struct czi_entry {
    int64_t position; /* of its segment */
    int type, compression, dims;
    int64_t scene, mosaic, x, y, width, height, stored_width, stored_height;
    int64_t at[PLANE_DIMS];
    int level; /* size over stored size */
};

static int czi_knows(const struct reader_file *f)
{
    return f->head_bytes >= 112 && !memcmp(f->head, "ZISRAWFILE", 10);
}

static int32_t czi_get32(const unsigned char *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static int64_t czi_get64(const unsigned char *p)
{
    int64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void set_dimension(struct czi_entry *e, const unsigned char *p)
{
    const int64_t start = czi_get32(p + 4), size = czi_get32(p + 8), stored = czi_get32(p + 16);
    const char *plane = p[0] ? strchr(plane_dims, p[0]) : NULL;
    if (p[0] == 'X') {
        e->x = start;
        e->width = size;
        e->stored_width = stored;
    } else if (p[0] == 'Y') {
        e->y = start;
        e->height = size;
        e->stored_height = stored;
    } else if (p[0] == 'S')
        e->scene = start;
    else if (p[0] == 'M')
        e->mosaic = start;
    else if (plane)
        e->at[plane - plane_dims] = start;
}

/* *bytes is the entry's length. */
static enum err parse_entry(struct store *s, const unsigned char *p, size_t left,
                            struct czi_entry *e, size_t *bytes)
{
    *e = (struct czi_entry){.mosaic = -1};
    FAIL_IF(left < 32, ERR_INPUT, "%s: its directory is cut short", s->name);
    FAIL_IF(memcmp(p, "DV", 2), ERR_UNSUPPORTED,
            "%s: its directory has entries of the kind \"%.2s\"; DV is read", s->name, p);
    e->type = czi_get32(p + 2);
    e->position = czi_get64(p + 6);
    e->compression = czi_get32(p + 18);
    e->dims = czi_get32(p + 28);
    FAIL_IF(e->dims < 1 || e->dims > ENTRY_DIMS || left < 32 + 20 * (size_t)e->dims, ERR_INPUT,
            "%s: a tile has %d dimensions", s->name, e->dims);
    for (int i = 0; i < e->dims; i++)
        set_dimension(e, p + 32 + 20 * i);
    *bytes = 32 + 20 * (size_t)e->dims;
    FAIL_IF(e->width < 1 || e->height < 1 || e->stored_width < 1 || e->stored_height < 1, ERR_INPUT,
            "%s: a tile has no size", s->name);
    const int64_t level = e->width / e->stored_width;
    e->level = level < 1 ? 1 : level > 1 << 20 ? 1 << 20 : (int)level;
    for (int i = 0; i < PLANE_DIMS; i++)
        FAIL_IF(e->at[i] < 0, ERR_INPUT, "%s: a tile lies at %c = %lld", s->name, plane_dims[i],
                (long long)e->at[i]);
    return ERR_OK;
}

static enum err czi_read_directory(struct store *s, struct czi_entry **entries, int *count)
{
    unsigned char head[164];
    int64_t bytes, used;
    TRY(store_object_read(s, 0, 0, head, 112));
    const int64_t at = czi_get64(head + 84);
    FAIL_IF(czi_get32(head + 80) != 0, ERR_UNSUPPORTED, "%s: is a part of a file in several parts",
            s->name);
    TRY(store_object_bytes(s, 0, &bytes));
    TRY(store_object_read(s, 0, at, head, 36));
    FAIL_IF(memcmp(head, "ZISRAWDIRECTORY", 15), ERR_INPUT,
            "%s: its directory is not at byte %lld: the file is damaged or was not closed", s->name,
            (long long)at);
    *count = czi_get32(head + 32);
    used = czi_get64(head + 24) ? czi_get64(head + 24) : czi_get64(head + 16);
    FAIL_IF(*count < 1 || *count > ENTRIES_MOST || used < 128 || used > bytes - at - 32, ERR_INPUT,
            "%s: its directory names %d tiles in %lld bytes", s->name, *count, (long long)used);
    unsigned char *all = malloc((size_t)used);
    *entries = calloc((size_t)*count, sizeof **entries);
    enum err e = all && *entries ? store_object_read(s, 0, at + 32, all, (size_t)used)
                                 : FAIL(ERR_MEMORY, "%s: no memory left", s->name);
    size_t from = 128, n = 0;
    for (int i = 0; i < *count && !e; i++, from += n)
        e = parse_entry(s, all + from, (size_t)used - from, &(*entries)[i], &n);
    free(all);
    return e;
}

/* Tiles with a higher mosaic number lie above. */
ARRAY_ORDER(by_array, struct czi_entry,
            COMPARE(x->level, y->level) ?: COMPARE(x->scene, y->scene)
                ?: COMPARE(x->type, y->type) ?: COMPARE(x->mosaic, y->mosaic)
                ?: COMPARE(x->position, y->position));

static int czi_set_type(int type, struct store_dtype *dtype, int *samples)
{
    static const struct {
        int type;
        char kind;
        unsigned char bytes;
        int samples;
    } rows[] = {{0, 'u', 1, 1}, {1, 'u', 2, 1}, {2, 'f', 4, 1},  {3, 'u', 1, 3},
                {4, 'u', 2, 3}, {8, 'f', 4, 3}, {12, 'u', 4, 1}, {13, 'f', 8, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) {
            *dtype = (struct store_dtype){rows[i].kind, rows[i].bytes, 0};
            *samples = rows[i].samples;
            return 1;
        }
    return 0;
}

/* Codecs of tiles: pipeline 1 and on of an array, where it needs one of them. */
#define CODECS 4
static const struct {
    int compression;
    enum codec codec;
} codecs[CODECS] = {{5, CODEC_CZI_ZSTD0}, {6, CODEC_CZI_ZSTD1}, {1, CODEC_JPEG}, {4, CODEC_JXR}};

/* A mosaic keeps this for its index. */
struct mosaic {
    const struct czi_entry *entries;
};

static enum err czi_set_pipeline(struct store *s, const struct czi_entry *e, int64_t data,
                                 int64_t whole, int16_t *out)
{
    /* Some writers name JPEG XR and store raw pixels. */
    const int raw = e->compression == 0 || (e->compression == 4 && data == whole);
    *out = raw ? 0 : -1;
    for (int i = 0; i < CODECS && !raw; i++)
        if (codecs[i].compression == e->compression) {
            char reason[CODEC_REASON];
            FAIL_IF(codec_missing(codecs[i].codec, reason, sizeof reason), ERR_UNSUPPORTED,
                    "%s: its tiles are compressed with %s, and %s", s->name,
                    codec_name(codecs[i].codec), reason);
            *out = (int16_t)(i + 1);
        }
    FAIL_IF(*out < 0, ERR_UNSUPPORTED,
            "%s: its tiles are compressed with %s (%d), which is not read; raw, JPEG, JPEG XR, "
            "zstd0 and zstd1 are. Convert it with ZEN or with pylibCZIrw",
            s->name, e->compression == 2 ? "LZW" : "an unknown codec", e->compression);
    return ERR_OK;
}

/* Lengths of data stand before them: 16 bytes are read for each tile. */
static enum err index_tiles(struct store *s, struct store_array *a)
{
    const struct mosaic *m = a->reader;
    unsigned char head[48];
    TRY(store_chunks_room(s, a));
    for (int64_t i = 0; i < a->chunks_count; i++) {
        const struct czi_entry *e = &m->entries[i];
        struct store_chunk c = {.object = 0};
        TRY(store_object_read(s, 0, e->position, head, sizeof head));
        FAIL_IF(memcmp(head, "ZISRAWSUBBLOCK", 14), ERR_INPUT, "%s: tile %lld is not at byte %lld",
                s->name, (long long)i, (long long)e->position);
        const int64_t before = 48 + 20 * e->dims, metadata = czi_get32(head + 32);
        FAIL_IF(metadata < 0, ERR_INPUT, "%s: tile %lld has %lld bytes of metadata", s->name,
                (long long)i, (long long)metadata);
        c.offset = e->position + 32 + (before > 256 ? before : 256) + metadata;
        c.stored = czi_get64(head + 40);
        TRY(czi_set_pipeline(s, e, c.stored, store_chunk_bytes(a, i), &c.pipeline));
        TRY(store_chunk_set(s, a, i, c));
    }
    return ERR_OK;
}

/* Dimensions: those planes that vary, y, x, samples. */
static enum err czi_set_shape(struct store *s, struct store_array *a, const struct czi_entry *e,
                              int n, int samples)
{
    int64_t low[PLANE_DIMS], high[PLANE_DIMS], x = e->x, y = e->y;
    int of[STORE_DIMS];
    static const char *const names[] = {"t", "r", "i", "h", "v", "b", "c", "z"};
    for (int d = 0; d < PLANE_DIMS; d++)
        low[d] = high[d] = e->at[d];
    for (int i = 0; i < n; i++) {
        x = e[i].x < x ? e[i].x : x;
        y = e[i].y < y ? e[i].y : y;
        for (int d = 0; d < PLANE_DIMS; d++) {
            low[d] = e[i].at[d] < low[d] ? e[i].at[d] : low[d];
            high[d] = e[i].at[d] > high[d] ? e[i].at[d] : high[d];
        }
    }
    for (int d = 0; d < PLANE_DIMS; d++)
        if (high[d] > low[d]) {
            FAIL_IF(a->dims == STORE_DIMS - 3, ERR_UNSUPPORTED, "%s: has too many dimensions",
                    s->name);
            of[a->dims] = d;
            a->axis[a->dims] = names[d];
            a->shape[a->dims++] = high[d] - low[d] + 1;
        }
    const int planes = a->dims;
    a->axis[planes] = "y";
    a->axis[planes + 1] = "x";
    a->dims += 2;
    if (samples > 1) {
        a->axis[a->dims] = "c";
        a->shape[a->dims++] = samples;
    }
    a->tiles = arena_take(s->arena, (size_t)n * sizeof *a->tiles);
    FAIL_IF(!a->tiles, ERR_MEMORY, "%s: no memory left", s->name);
    for (int i = 0; i < n; i++) {
        struct store_tile *t = &a->tiles[i];
        for (int d = 0; d < planes; d++) {
            t->start[d] = e[i].at[of[d]] - low[of[d]];
            t->shape[d] = 1;
        }
        t->start[planes] = (e[i].y - y) / e[i].level;
        t->shape[planes] = e[i].stored_height;
        t->start[planes + 1] = (e[i].x - x) / e[i].level;
        t->shape[planes + 1] = e[i].stored_width;
        t->shape[planes + 2] = samples;
        for (int d = planes; d < planes + 2; d++)
            if (t->start[d] + t->shape[d] > a->shape[d])
                a->shape[d] = t->start[d] + t->shape[d];
    }
    return ERR_OK;
}

/* Adds entries [0, n) of one level, scene and type. */
static enum err add_array(struct store *s, const struct czi_entry *e, int n)
{
    struct store_array *a;
    char name[64];
    int samples, used = snprintf(name, sizeof name, "scene%lld", (long long)e->scene);
    if (e->level > 1)
        snprintf(name + used, sizeof name - (size_t)used, "/down%d", e->level);
    struct mosaic *m = arena_take(s->arena, sizeof *m);
    struct czi_entry *kept = arena_take(s->arena, (size_t)n * sizeof *kept);
    FAIL_IF(!m || !kept, ERR_MEMORY, "%s: no memory left", s->name);
    TRY(store_array_add(s, name, &a));
    if (!czi_set_type(e->type, &a->dtype, &samples)) {
        s->arrays_count--;
        return store_unreadable_add(s, name, -1, "pixel type %d", e->type);
    }
    memcpy(kept, e, (size_t)n * sizeof *kept);
    m->entries = kept;
    TRY(czi_set_shape(s, a, e, n, samples));
    a->chunks_count = n;
    a->reader = m;
    a->index = index_tiles;
    a->pipelines_count = 1;
    int most = 0; /* pipelines up to the last one that a tile needs */
    for (int i = 0; i < n; i++)
        for (int k = most; k < CODECS; k++)
            most = codecs[k].compression == e[i].compression ? k + 1 : most;
    for (int i = 0; i < most; i++)
        a->pipelines[a->pipelines_count++] =
            (struct codec_pipeline){codec_available(codecs[i].codec), /* else index_tiles refuses */
                                    {{.codec = codecs[i].codec,
                                      .item = a->dtype.bytes,
                                      .samples = samples,
                                      .swap = samples == 3}}};
    TRY(store_array_check(s, a));
    return store_tiles_check(s, a);
}

/* Returns the text of the metadata segment, malloc'ed. NULL: it cannot be read, and names are left
 * out. */
static char *czi_read_xml(struct store *s)
{
    unsigned char head[48];
    char *xml = NULL;
    if (store_object_read(s, 0, 0, head, sizeof head) ||
        store_object_read(s, 0, 92, head, 8)) /* the place of the segment */
        return NULL;
    const int64_t at = czi_get64(head);
    if (at <= 0 || store_object_read(s, 0, at, head, 36) || memcmp(head, "ZISRAWMETADATA", 14) != 0)
        return NULL;
    const int64_t n = czi_get32(head + 32);
    if (n > 0 && n < XML_MOST && (xml = malloc((size_t)n + 1))) {
        xml[n] = 0;
        if (store_object_read(s, 0, at + 288, xml, (size_t)n)) {
            free(xml);
            xml = NULL;
        }
    }
    return xml;
}

/* Another name of the array of a scene, and of its levels. */
static enum err name_scene(struct store *s, const char *name, long long scene)
{
    char array[64], alias[200];
    const int n = snprintf(array, sizeof array, "scene%lld", scene);
    for (int i = 0; i < s->arrays_count; i++) {
        const char *rest = s->arrays[i]->name + n;
        if (strncmp(s->arrays[i]->name, array, (size_t)n) != 0 || (*rest && *rest != '/'))
            continue;
        snprintf(alias, sizeof alias, "%.100s%s", name, rest);
        TRY(store_alias_add(s, (struct store_alias){.name = store_text(s, alias),
                                                    .how = "name of the scene",
                                                    .array = s->arrays[i]}));
    }
    return ERR_OK;
}

/* Names of channels and scenes, which the dimensions of the image list in their order. */
static enum err czi_name_parts(struct store *s, const char *xml)
{
    struct store_member *names = arena_take(s->arena, NAMES_MOST * sizeof *names);
    const char *dimensions = xml_element(xml, "Dimensions"),
               *channels = dimensions ? xml_element(dimensions, "Channels") : NULL,
               *scenes = dimensions ? xml_element(dimensions, "Scenes") : NULL;
    char name[120], number[24];
    int count = 0, number_of = 0;
    FAIL_IF(!names, ERR_MEMORY, "%s: no memory left", s->name);
    for (const char *c = channels, *end = c ? strstr(c, "</Channels>") : NULL;
         end && count < NAMES_MOST && (c = xml_element(c + 1, "Channel")) && c < end; number_of++)
        if (xml_attribute(c, "Name", name, sizeof name))
            names[count++] = (struct store_member){store_text(s, name), number_of};
    for (int i = 0; i < s->arrays_count && count; i++) {
        s->arrays[i]->channels = names;
        s->arrays[i]->channels_count = count;
    }
    for (const char *c = scenes, *end = c ? strstr(c, "</Scenes>") : NULL;
         end && (c = xml_element(c + 1, "Scene")) && c < end;)
        if (xml_attribute(c, "Name", name, sizeof name) && *name &&
            xml_attribute(c, "Index", number, sizeof number))
            TRY(name_scene(s, name, strtoll(number, NULL, 10)));
    return ERR_OK;
}

static enum err czi_fill(struct store *s, const struct reader_file *f)
{
    struct czi_entry *entries = NULL;
    int32_t object;
    int count = 0;
    TRY(store_object_add(s, NULL, f->path, &object));
    enum err e = czi_read_directory(s, &entries, &count);
    if (!e) {
        qsort(entries, (size_t)count, sizeof *entries, by_array);
        for (int i = 0, end; i < count && !e && s->arrays_count < ARRAYS_MOST; i = end) {
            for (end = i + 1;
                 end < count && entries[end].level == entries[i].level &&
                 entries[end].scene == entries[i].scene && entries[end].type == entries[i].type;
                 end++)
                ;
            e = add_array(s, entries + i, end - i);
        }
    }
    free(entries);
    char *xml = e ? NULL : czi_read_xml(s);
    if (xml)
        e = czi_name_parts(s, xml);
    free(xml);
    return e;
}

static enum err czi_open(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, "CZI", out));
    enum err e = czi_fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

const struct reader reader_czi = {"CZI", "CZI", czi_knows, czi_open};
