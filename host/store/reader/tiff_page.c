/* Reads directories of TIFF files, of both byte orders and sizes of offsets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/tiff_page.h"

#define ENTRIES_MOST 4096
#define SUB_MOST     64
#define VALUES_MOST  ((int64_t)1 << 26)

static uint64_t tiff_get(const unsigned char *p, int bytes, int swap)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)p[swap ? bytes - 1 - i : i] << (8 * i);
    return v;
}

/* Bytes of an element of a type; 0: no type that is known. */
static int type_bytes(int type)
{
    static const unsigned char bytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type >= 0 && type < (int)sizeof bytes ? bytes[type] : 0;
}

/* Sizes, offsets and codes: unsigned or signed integers of any width, and offsets of directories.
 */
static int is_integer(int type)
{
    return type_bytes(type) && type != 2 && type != 5 && type != 7 && (type < 10 || type > 12);
}

/* -1: negative, or too large. */
static int64_t tiff_value_of(const unsigned char *p, int type, int swap)
{
    const int bytes = type_bytes(type),
              is_signed = type == 6 || type == 8 || type == 9 || type == 17;
    const uint64_t v = tiff_get(p, bytes, swap);
    return v > INT64_MAX || (is_signed && v >> (8 * bytes - 1)) ? -1 : (int64_t)v;
}

enum err tiff_all_values(struct store *s, const struct tiff_page *p, const struct tiff_values *v,
                         int64_t **out)
{
    const int bytes = type_bytes(v->type);
    *out = NULL;
    FAIL_IF(!is_integer(v->type) || v->count < 1 || v->count > VALUES_MOST, ERR_INPUT,
            "%s: a tag has %lld values of type %d", s->name, (long long)v->count, v->type);
    int64_t file_bytes;
    TRY(store_object_bytes(s, p->object, &file_bytes));
    FAIL_IF(v->count * bytes > file_bytes, ERR_INPUT, "%s: a tag has more values than the file",
            s->name);
    unsigned char *raw = malloc((size_t)(v->count * bytes));
    *out = malloc((size_t)v->count * sizeof **out);
    enum err e = raw && *out ? ERR_OK : FAIL(ERR_MEMORY, "%s: no memory left", s->name);
    if (!e)
        e = store_object_read(s, p->object, v->offset, raw, (size_t)(v->count * bytes));
    for (int64_t i = 0; !e && i < v->count; i++)
        (*out)[i] = tiff_value_of(raw + i * bytes, v->type, p->swap);
    free(raw);
    if (e) {
        free(*out);
        *out = NULL;
    }
    return e;
}

enum err tiff_value(struct store *s, const struct tiff_page *p, const struct tiff_values *v,
                    int64_t i, int64_t *out)
{
    unsigned char raw[8];
    const int bytes = type_bytes(v->type);
    FAIL_IF(!is_integer(v->type) || i < 0 || i >= v->count || i > INT64_MAX / 8, ERR_INPUT,
            "%s: a tag lacks value %lld", s->name, (long long)i);
    TRY(store_object_read(s, p->object, v->offset + i * bytes, raw, (size_t)bytes));
    *out = tiff_value_of(raw, v->type, p->swap);
    return ERR_OK;
}

double tiff_rational(struct store *s, const struct tiff_page *p, const struct tiff_values *v)
{
    unsigned char raw[8];
    if (v->type != 5 || store_object_read(s, p->object, v->offset, raw, sizeof raw))
        return 0;
    const double over = (double)tiff_get(raw, 4, p->swap);
    const double under = (double)tiff_get(raw + 4, 4, p->swap);
    return under > 0 ? over / under : 0;
}

void tiff_text(struct store *s, const struct tiff_page *p, const struct tiff_values *v, char *out,
               size_t room)
{
    const size_t n = v->count < (int64_t)room ? (size_t)v->count : room - 1;
    out[0] = 0;
    if (v->type == 2 && v->count > 0 &&
        store_object_read(s, p->object, v->offset, out, n) == ERR_OK)
        out[n] = 0;
}

/* Places of the tags that are needed. */
struct tiff_slot {
    int tag;
    int64_t *wide;
    int *narrow;
    struct tiff_values *values;
};

/* ERR_INPUT where samples of a pixel differ: no array holds them. */
static enum err set_all(struct store *s, struct tiff_page *p, int tag, const struct tiff_values *v,
                        int64_t first)
{
    int64_t *all;
    if (v->count < 2 || (tag != 258 && tag != 339 && tag != 530))
        return ERR_OK;
    TRY(tiff_all_values(s, p, v, &all));
    for (int64_t i = 1; i < v->count; i++)
        p->mixed |= tag != 530 && all[i] != first;
    if (tag == 530)
        p->whole_colours = all[0] == 1 && all[1] == 1;
    free(all);
    return ERR_OK;
}

static enum err page_set_number(struct store *s, struct tiff_page *p, const struct tiff_slot *slot,
                                const struct tiff_values *v)
{
    int64_t first = 0;
    TRY(tiff_value(s, p, v, 0, &first));
    if (slot->tag == 278 && (first < 0 || first > INT32_MAX)) /* "all rows" is 2^32 - 1 */
        first = INT32_MAX;
    FAIL_IF(first < 0 || first > INT32_MAX, ERR_INPUT, "%s: tag %d has the value %lld", s->name,
            slot->tag, (long long)first);
    if (slot->wide)
        *slot->wide = first;
    if (slot->narrow)
        *slot->narrow = (int)first;
    return set_all(s, p, slot->tag, v, first);
}

/* Sets an entry of a directory, `v->offset` still as in the file. Tags that are not needed may be
 * anything. */
static enum err set_tag(struct store *s, struct tiff_page *p, int tag, uint64_t n, uint64_t where,
                        int64_t inside_at, struct tiff_values v)
{
    int unused;
    struct tiff_slot rows[] = {
        {256, &p->width, NULL, NULL},         {257, &p->height, NULL, NULL},
        {258, NULL, &p->bits, NULL},          {259, NULL, &p->compression, NULL},
        {262, NULL, &p->photometric, NULL},   {266, NULL, &p->fill_order, NULL},
        {277, NULL, &p->samples, NULL},       {278, &p->rows_per_strip, NULL, NULL},
        {284, NULL, &p->planar, NULL},        {296, NULL, &p->resolution_unit, NULL},
        {317, NULL, &p->predictor, NULL},     {322, &p->tile_width, NULL, NULL},
        {323, &p->tile_height, NULL, NULL},   {339, NULL, &p->format, NULL},
        {530, NULL, &unused, NULL},           {270, NULL, NULL, &p->description},
        {282, NULL, NULL, &p->resolution[0]}, {283, NULL, NULL, &p->resolution[1]},
        {273, NULL, NULL, &p->offsets},       {279, NULL, NULL, &p->counts},
        {324, NULL, NULL, &p->offsets},       {325, NULL, NULL, &p->counts},
        {330, NULL, NULL, &p->sub},           {347, NULL, NULL, &p->jpeg_tables},
        {292, NULL, &p->fax[0], NULL},        {293, NULL, &p->fax[1], NULL},
        {50674, NULL, NULL, &p->lerc}};
    const struct tiff_slot *slot = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        slot = rows[i].tag == tag ? &rows[i] : slot;
    const int per_unit = tag == 282 || tag == 283; /* nothing but a spacing depends on them */
    if (!slot || (tag == 270 && v.type != 2) || (per_unit && (v.type != 5 || n != 1)))
        return ERR_OK;
    const uint32_t bit = UINT32_C(1) << (slot - rows);
    FAIL_IF(tag != 270 && p->seen & bit, ERR_INPUT,
            "%s: tag %d stands twice in its directory, which is damaged", s->name, tag);
    p->seen |= bit;
    const int bytes = type_bytes(v.type);
    const int fits = tag == 347 ? bytes == 1 : tag == 270 || per_unit || is_integer(v.type);
    FAIL_IF(!fits, ERR_INPUT, "%s: tag %d has values of type %d, which it cannot have", s->name,
            tag, v.type);
    if (tag == 270 && n == 0)
        return ERR_OK;
    FAIL_IF(n == 0 || n > (uint64_t)VALUES_MOST, ERR_INPUT, "%s: tag %d has %llu values", s->name,
            tag, (unsigned long long)n);
    v.count = (int64_t)n;
    const int inside = v.count * bytes <= (p->big ? 8 : 4);
    FAIL_IF(!inside && where > (uint64_t)INT64_MAX / 2, ERR_INPUT,
            "%s: the values of tag %d are at byte %llu", s->name, tag, (unsigned long long)where);
    v.offset = inside ? inside_at : (int64_t)where;
    if (slot->values) {
        *slot->values = v;
        return ERR_OK;
    }
    return page_set_number(s, p, slot, &v);
}

static enum err page_check(struct store *s, const struct tiff_page *p)
{
    FAIL_IF(p->width < 1 || p->height < 1 || p->samples < 1 || p->samples > 65535, ERR_INPUT,
            "%s: lacks its size (tags 256, 257 and 277: %lld x %lld, %d samples)", s->name,
            (long long)p->width, (long long)p->height, p->samples);
    FAIL_IF((!p->offsets.count || !p->counts.count) && p->compression != 6, ERR_INPUT,
            "%s: lacks the places of its strips or tiles (tags 273 and 279, or 324 and 325)",
            s->name);
    FAIL_IF(p->planar != 1 && p->planar != 2, ERR_INPUT,
            "%s: tag 284 has the value %d; it is 1 or 2", s->name, p->planar);
    FAIL_IF((p->tile_width || p->tile_height) && (p->tile_width < 1 || p->tile_height < 1),
            ERR_INPUT, "%s: has tiles of no size", s->name);
    return ERR_OK;
}

enum err tiff_page_judge(struct store *s, const struct tiff_page *p)
{
    FAIL_IF(p->mixed, ERR_UNSUPPORTED,
            "%s: samples of a pixel have several types (tags 258 and 339); they must have one",
            s->name);
    FAIL_IF(p->compression == 6, ERR_UNSUPPORTED,
            "%s: compression 6 (old-style JPEG) is not read. Convert it with tiffcp -c zip",
            s->name);
    FAIL_IF(
        p->bits < 1 || (p->bits > 16 && p->bits != 24 && p->bits != 32 && p->bits != 64),
        ERR_UNSUPPORTED,
        "%s: has %d bits per sample; 1 to 16, 24, 32 and 64 are read. Convert it with tifffile: "
        "imwrite(\"new.tif\", imread(\"old.tif\"))",
        s->name, p->bits);
    return ERR_OK;
}

enum err tiff_page_failed(struct store *s, const struct tiff_page *p, enum err e)
{
    char text[900];
    if (!e)
        return ERR_OK;
    const size_t n = strlen(s->name);
    const char *all = err_text();
    snprintf(text, sizeof text, "%s",
             !strncmp(all, s->name, n) && !strncmp(all + n, ": ", 2) ? all + n + 2 : all);
    return p->level ? FAIL(e, "%s: page %lld, its sub-image %d (tag 330): %s", s->name,
                           (long long)p->number, p->level, text)
                    : FAIL(e, "%s: page %lld: %s", s->name, (long long)p->number, text);
}

/* Reads one directory; *next is where the following one is, 0: none. */
static enum err read_page(struct store *s, struct tiff_page *p, int64_t at, int64_t *next)
{
    unsigned char raw[20];
    const int count_bytes = p->big ? 8 : 2, entry = p->big ? 20 : 12, word = p->big ? 8 : 4;
    TRY(store_object_read(s, p->object, at, raw, (size_t)count_bytes));
    const uint64_t entries = tiff_get(raw, count_bytes, p->swap);
    FAIL_IF(entries < 1 || entries > ENTRIES_MOST, ERR_INPUT, "%s: a directory has %llu entries",
            s->name, (unsigned long long)entries);
    unsigned char *all = malloc(entries * (size_t)entry + 8);
    FAIL_IF(!all, ERR_MEMORY, "%s: no memory left", s->name);
    at += count_bytes;
    enum err e = store_object_read(s, p->object, at, all, entries * (size_t)entry + (size_t)word);
    for (uint64_t i = 0; i < entries && !e; i++) {
        const unsigned char *x = all + i * (uint64_t)entry;
        const struct tiff_values v = {.type = (int)tiff_get(x + 2, 2, p->swap)};
        e = set_tag(s, p, (int)tiff_get(x, 2, p->swap), tiff_get(x + 4, word, p->swap),
                    tiff_get(x + 4 + word, word, p->swap), at + (int64_t)i * entry + 4 + word, v);
    }
    if (!e) {
        const uint64_t after = tiff_get(all + entries * (size_t)entry, word, p->swap);
        e = after > INT64_MAX ? FAIL(ERR_INPUT, "%s: the next directory is at byte %llu", s->name,
                                     (unsigned long long)after)
                              : ERR_OK;
        *next = (int64_t)after;
    }
    free(all);
    return e ? e : page_check(s, p);
}

static enum err add_page(struct store *s, struct tiff_page *p, int64_t *next, struct table *seen,
                         struct tiff_pages *out)
{
    if (table_get(seen, (uint64_t)*next) != TABLE_NONE)
        return tiff_page_failed(s, p,
                                FAIL(ERR_INPUT, "%s: its directories lead in a circle", s->name));
    TRY(table_put(seen, (uint64_t)*next, 1));
    const enum err e = read_page(s, p, *next, next);
    if (e)
        return tiff_page_failed(s, p, e);
    TRY(array_room(&out->items, &out->room, out->count + 1, sizeof *p));
    out->items[out->count++] = *p;
    return ERR_OK;
}

/* Adds smaller versions of a page, or the large one of a thumbnail. */
static enum err add_sub(struct store *s, const struct tiff_page *empty, size_t of,
                        struct table *seen, struct tiff_pages *out)
{
    const struct tiff_page parent = out->items[of];
    if (!parent.sub.count)
        return ERR_OK;
    FAIL_IF(parent.sub.count > SUB_MOST, ERR_INPUT, "%s: page %lld: tag 330 has %lld values",
            s->name, (long long)parent.number, (long long)parent.sub.count);
    for (int64_t i = 0; i < parent.sub.count; i++) {
        struct tiff_page p = *empty;
        int64_t at = 0;
        p.number = parent.number;
        p.level = (int)i + 1;
        enum err e = tiff_value(s, &parent, &parent.sub, i, &at);
        if (!e && at <= 0)
            e = FAIL(ERR_INPUT, "%s: it is at byte %lld", s->name, (long long)at);
        if (e)
            return tiff_page_failed(s, &p, e);
        TRY(add_page(s, &p, &at, seen, out));
    }
    return ERR_OK;
}

enum err tiff_pages_read(struct store *s, int32_t object, struct tiff_pages *out)
{
    unsigned char head[16] = {0};
    int64_t bytes;
    TRY(store_object_bytes(s, object, &bytes));
    TRY(store_object_read(s, object, 0, head, bytes < 16 ? 8 : 16));
    const int swap = head[0] == 'M';
    const int version = (int)tiff_get(head + 2, 2, swap), big = version == 43;
    FAIL_IF((memcmp(head, "II", 2) && memcmp(head, "MM", 2)) || (version != 42 && !big), ERR_INPUT,
            "%s: is not a TIFF file", s->objects[object].name);
    const uint64_t first = tiff_get(head + (big ? 8 : 4), big ? 8 : 4, swap);
    int64_t next = first > INT64_MAX ? 0 : (int64_t)first;
    struct table seen = {0};
    const struct tiff_page empty = {.object = object,
                                    .big = big,
                                    .swap = swap,
                                    .samples = 1,
                                    .planar = 1,
                                    .compression = 1,
                                    .predictor = 1,
                                    .format = 1,
                                    .bits = 1,
                                    .rows_per_strip = INT32_MAX};
    const size_t before = out->count;
    enum err e = ERR_OK;
    for (int64_t n = 1; next && !e; n++) {
        struct tiff_page p = empty;
        p.number = n;
        e = add_page(s, &p, &next, &seen, out);
    }
    const size_t end = out->count;
    out->main = (int64_t)(end - before);
    for (size_t i = before; i < end && !e; i++)
        e = add_sub(s, &empty, i, &seen, out);
    table_free(&seen);
    return e;
}

int64_t tiff_page_pixels(const struct tiff_page *p)
{
    int64_t n;
    return __builtin_mul_overflow(p->width * p->height, p->samples, &n) ? INT64_MAX : n;
}

static int same_size(const struct tiff_page *a, const struct tiff_page *b)
{
    return a->width == b->width && a->height == b->height && a->bits == b->bits &&
           a->samples == b->samples && a->format == b->format;
}

const char *tiff_other_layout(const struct tiff_page *a, const struct tiff_page *b)
{
    return !same_size(a, b)                         ? NULL
           : a->compression != b->compression       ? "compression (tag 259)"
           : a->predictor != b->predictor           ? "predictor (tag 317)"
           : a->planar != b->planar                 ? "order of samples (tag 284)"
           : a->rows_per_strip != b->rows_per_strip ? "number of rows in a strip (tag 278)"
           : a->tile_width != b->tile_width || a->tile_height != b->tile_height
               ? "size of tiles (tags 322 and 323)"
           : a->photometric != b->photometric && a->compression == 7
               ? "meaning of colours (tag 262)"
           : a->fill_order != b->fill_order || a->mixed != b->mixed ? "layout"
                                                                    : NULL;
}

int tiff_same_layout(const struct tiff_page *a, const struct tiff_page *b)
{
    return a->swap == b->swap && a->width == b->width && a->height == b->height &&
           a->tile_width == b->tile_width && a->tile_height == b->tile_height &&
           a->rows_per_strip == b->rows_per_strip && a->bits == b->bits &&
           a->samples == b->samples && a->planar == b->planar && a->compression == b->compression &&
           a->predictor == b->predictor && a->format == b->format && a->level == b->level &&
           a->mixed == b->mixed && a->fill_order == b->fill_order && a->fax[0] == b->fax[0] &&
           a->fax[1] == b->fax[1] && (a->photometric == b->photometric || a->compression != 7);
}
