/* Reads directories of TIFF files, of both byte orders and sizes of offsets. */
#include <stdlib.h>
#include <string.h>

#include "host/base/arena.h"
#include "host/base/table.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/tiff_page.h"

#define ENTRIES_MOST 4096
#define VALUES_MOST  ((int64_t)1 << 26)

static uint64_t get(const unsigned char *p, int bytes, int swap)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)p[swap ? bytes - 1 - i : i] << (8 * i);
    return v;
}

/* Bytes of an element by the type of its tag; 0: not an unsigned integer or text. */
static int type_bytes(int type)
{
    return type == 1 || type == 2     ? 1
           : type == 3                ? 2
           : type == 4 || type == 13  ? 4
           : type == 16 || type == 18 ? 8
                                      : 0;
}

enum err tiff_all_values(struct store *s, const struct tiff_page *p, const struct tiff_values *v,
                         int64_t **out)
{
    const int bytes = type_bytes(v->type);
    *out = NULL;
    FAIL_IF(!bytes || v->count < 1 || v->count > VALUES_MOST, ERR_INPUT,
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
    for (int64_t i = 0; !e && i < v->count; i++) {
        const uint64_t value = get(raw + i * bytes, bytes, p->swap);
        (*out)[i] = value > INT64_MAX ? -1 : (int64_t)value;
    }
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
    FAIL_IF(!bytes || i < 0 || i >= v->count || i > INT64_MAX / 8, ERR_INPUT,
            "%s: a tag lacks value %lld", s->name, (long long)i);
    TRY(store_object_read(s, p->object, v->offset + i * bytes, raw, (size_t)bytes));
    const uint64_t value = get(raw, bytes, p->swap);
    *out = value > INT64_MAX ? -1 : (int64_t)value;
    return ERR_OK;
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

static enum err set_tag(struct store *s, struct tiff_page *p, int tag, const struct tiff_values *v)
{
    int64_t first = 0;
    if (tag == 270)
        p->description = *v;
    if (tag == 347)
        p->jpeg_tables = *v;
    if (tag == 273 || tag == 324)
        p->offsets = *v;
    if (tag == 279 || tag == 325)
        p->counts = *v;
    struct {
        int tag;
        int64_t *wide;
        int *narrow;
    } rows[] = {
        {256, &p->width, NULL},          {257, &p->height, NULL},      {258, NULL, &p->bits},
        {259, NULL, &p->compression},    {266, NULL, &p->fill_order},  {277, NULL, &p->samples},
        {278, &p->rows_per_strip, NULL}, {284, NULL, &p->planar},      {317, NULL, &p->predictor},
        {322, &p->tile_width, NULL},     {323, &p->tile_height, NULL}, {339, NULL, &p->format}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].tag != tag)
            continue;
        TRY(tiff_value(s, p, v, 0, &first));
        if (tag == 278 && (first < 0 || first > INT32_MAX)) /* "all rows" is 2^32 - 1 */
            first = INT32_MAX;
        FAIL_IF(first < 0 || first > INT32_MAX, ERR_INPUT, "%s: tag %d has the value %lld", s->name,
                tag, (long long)first);
        if (rows[i].wide)
            *rows[i].wide = first;
        else
            *rows[i].narrow = (int)first;
    }
    return ERR_OK;
}

static enum err check(struct store *s, const struct tiff_page *p)
{
    FAIL_IF(p->width < 1 || p->height < 1 || p->samples < 1 || p->samples > 65535 ||
                !p->offsets.count || !p->counts.count,
            ERR_INPUT, "%s: a page lacks its size or its strips", s->name);
    FAIL_IF(p->bits != 8 && p->bits != 16 && p->bits != 32 && p->bits != 64, ERR_UNSUPPORTED,
            "%s: has %d bits per sample; 8, 16, 32 and 64 are read", s->name, p->bits);
    FAIL_IF(p->fill_order == 2, ERR_UNSUPPORTED, "%s: has its bits reversed (FillOrder 2)",
            s->name);
    FAIL_IF((p->tile_width || p->tile_height) && (p->tile_width < 1 || p->tile_height < 1),
            ERR_INPUT, "%s: has tiles of no size", s->name);
    return ERR_OK;
}

/* One directory; *next is where the following one is, 0: none. */
static enum err read_page(struct store *s, struct tiff_page *p, int64_t at, int64_t *next)
{
    unsigned char raw[20];
    const int count_bytes = p->big ? 8 : 2, entry = p->big ? 20 : 12, word = p->big ? 8 : 4;
    TRY(store_object_read(s, p->object, at, raw, (size_t)count_bytes));
    const uint64_t entries = get(raw, count_bytes, p->swap);
    FAIL_IF(entries < 1 || entries > ENTRIES_MOST, ERR_INPUT, "%s: a directory has %llu entries",
            s->name, (unsigned long long)entries);
    unsigned char *all = malloc(entries * (size_t)entry + 8);
    FAIL_IF(!all, ERR_MEMORY, "%s: no memory left", s->name);
    at += count_bytes;
    enum err e = store_object_read(s, p->object, at, all, entries * (size_t)entry + (size_t)word);
    for (uint64_t i = 0; i < entries && !e; i++) {
        const unsigned char *x = all + i * (uint64_t)entry;
        struct tiff_values v = {.type = (int)get(x + 2, 2, p->swap)};
        const uint64_t n = get(x + 4, word, p->swap);
        const int bytes = type_bytes(v.type);
        if (!bytes || n == 0 || n > (uint64_t)VALUES_MOST)
            continue;
        v.count = (int64_t)n;
        const int inside = v.count * bytes <= word;
        const uint64_t where = get(x + 4 + word, word, p->swap);
        if (!inside && where > (uint64_t)INT64_MAX / 2)
            continue;
        v.offset = inside ? at + (int64_t)i * entry + 4 + word : (int64_t)where;
        e = set_tag(s, p, (int)get(x, 2, p->swap), &v);
    }
    if (!e) {
        const uint64_t after = get(all + entries * (size_t)entry, word, p->swap);
        *next = after > INT64_MAX ? 0 : (int64_t)after;
    }
    free(all);
    return e ? e : check(s, p);
}

enum err tiff_pages_read(struct store *s, int32_t object, int64_t most, struct tiff_pages *out)
{
    unsigned char head[16] = {0};
    int64_t bytes, next;
    TRY(store_object_bytes(s, object, &bytes));
    TRY(store_object_read(s, object, 0, head, bytes < 16 ? 8 : 16));
    const int swap = head[0] == 'M';
    const int version = (int)get(head + 2, 2, swap), big = version == 43;
    FAIL_IF((memcmp(head, "II", 2) && memcmp(head, "MM", 2)) || (version != 42 && !big), ERR_INPUT,
            "%s: is not a TIFF file", s->objects[object].name);
    const uint64_t first = get(head + (big ? 8 : 4), big ? 8 : 4, swap);
    next = first > INT64_MAX ? 0 : (int64_t)first;
    struct table seen = {0};
    enum err e = ERR_OK;
    for (int64_t n = 0; next && !e && (!most || n < most); n++) {
        if (table_get(&seen, (uint64_t)next) != TABLE_NONE) {
            e = FAIL(ERR_INPUT, "%s: its directories lead in a circle", s->name);
            break;
        }
        e = table_put(&seen, (uint64_t)next, 1);
        struct tiff_page p = {.object = object,
                              .big = big,
                              .swap = swap,
                              .samples = 1,
                              .planar = 1,
                              .compression = 1,
                              .predictor = 1,
                              .format = 1,
                              .bits = 1,
                              .rows_per_strip = INT32_MAX};
        if (!e)
            e = read_page(s, &p, next, &next);
        if (!e)
            e = array_room(&out->items, &out->room, out->count + 1, sizeof p);
        if (!e)
            out->items[out->count++] = p;
    }
    table_free(&seen);
    return e;
}

int tiff_same_layout(const struct tiff_page *a, const struct tiff_page *b)
{
    return a->swap == b->swap && a->width == b->width && a->height == b->height &&
           a->tile_width == b->tile_width && a->tile_height == b->tile_height &&
           a->rows_per_strip == b->rows_per_strip && a->bits == b->bits &&
           a->samples == b->samples && a->planar == b->planar && a->compression == b->compression &&
           a->predictor == b->predictor && a->format == b->format;
}
