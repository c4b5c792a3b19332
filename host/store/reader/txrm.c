/* Zeiss TXRM and XRM scans: compound files with a stream for each view. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/guard/guarded.h"
#include "host/store/manifest/manifest.h"
#include "host/store/container/cfb.h"
#include "host/store/reader/reader.h"

#define VIEWS_MOST (1 << 20)

static int txrm_knows(const struct reader_file *f)
{
    return f->head_bytes >= 512 && !memcmp(f->head, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8);
}

/* A number of 4 bytes; 0: the stream is not there. */
static int txrm_number(const struct cfb *c, const char *path, void *out)
{
    const struct cfb_stream *t = cfb_find(c, path);
    return t && t->bytes >= 4 && cfb_read(c, t, out, 4) == ERR_OK;
}

static int txrm_set_type(uint32_t code, struct store_dtype *out)
{
    *out = code == 5    ? (struct store_dtype){'u', 2, 0}
           : code == 3  ? (struct store_dtype){'u', 1, 0}
           : code == 10 ? (struct store_dtype){'f', 4, 0}
                        : (struct store_dtype){0};
    return out->bytes;
}

/* A view in one piece is read in place; of others a copy is kept. */
static enum err set_view(struct store *s, struct store_array *a, const struct cfb *c, int64_t chunk,
                         const char *path)
{
    const struct cfb_stream *t = cfb_find(c, path);
    const int64_t bytes = store_chunk_bytes(a, chunk);
    struct store_chunk where = {.object = 0, .stored = bytes};
    FAIL_IF(!t || t->bytes < bytes, ERR_INPUT, "%s: view %s has %lld bytes, %lld are needed",
            s->name, path, t ? (long long)t->bytes : 0, (long long)bytes);
    where.offset = cfb_offset(c, t);
    if (where.offset < 0) {
        void *copy = malloc((size_t)bytes + 1);
        FAIL_IF(!copy, ERR_MEMORY, "%s: no memory left for %s", s->name, path);
        enum err e = cfb_read(c, t, copy, (size_t)bytes);
        if (!e)
            e = store_memory_add(s, path, copy, (size_t)bytes, &where.object);
        free(copy);
        TRY(e);
        where.offset = 0;
    }
    return store_chunk_set(s, a, chunk, where);
}

static enum err add_image(struct store *s, const struct cfb *c, const char *name, uint32_t type,
                          int64_t views, int64_t rows, int64_t columns, const char *single)
{
    struct store_array *a;
    char path[64];
    int64_t bytes;
    TRY(store_object_bytes(s, 0, &bytes));
    TRY(store_array_add(s, name, &a));
    FAIL_IF(!txrm_set_type(type, &a->dtype), ERR_UNSUPPORTED,
            "%s: its data type %u is not read; 3 (uint8), 5 (uint16) and 10 (float32) are", s->name,
            type);
    FAIL_IF(views < 1 || views > VIEWS_MOST || rows < 1 || columns < 1 ||
                rows > bytes / columns, /* each view is in the file */
            ERR_INPUT, "%s: has %lld views of %lld x %lld", s->name, (long long)views,
            (long long)rows, (long long)columns);
    const int64_t shape[] = {views, rows, columns};
    static const char *const axes[] = {"theta", "y", "x"};
    const int skip = single != NULL;
    a->dims = 3 - skip;
    for (int i = 0; i < a->dims; i++) {
        a->shape[i] = shape[i + skip];
        a->chunk[i] = i + skip ? shape[i + skip] : 1;
        a->axis[i] = axes[i + skip];
    }
    a->pipelines_count = 1;
    TRY(store_array_check(s, a));
    TRY(store_chunks_room(s, a));
    if (single)
        return set_view(s, a, c, 0, single);
    for (int64_t i = 0; i < views; i++) { /* views are numbered from 1, 100 in a folder */
        if (strcmp(name, "data") != 0)
            snprintf(path, sizeof path, "MultiReferenceData/Image%lld", (long long)(i + 1));
        else
            snprintf(path, sizeof path, "ImageData%lld/Image%lld", (long long)(i / 100 + 1),
                     (long long)(i + 1));
        TRY(set_view(s, a, c, i, path));
    }
    return ERR_OK;
}

/* Values per view: angles in degrees, shifts in pixels. */
static enum err add_values(struct store *s, const struct cfb *c, const char *name, const char *path,
                           int64_t views)
{
    const struct cfb_stream *t = cfb_find(c, path);
    struct store_array *a;
    int32_t object;
    if (!t || t->bytes < 4 * views)
        return ERR_OK;
    float *x = malloc((size_t)views * sizeof *x);
    FAIL_IF(!x, ERR_MEMORY, "%s: no memory left for %s", s->name, path);
    enum err e = cfb_read(c, t, x, (size_t)views * sizeof *x);
    if (!e)
        e = store_memory_add(s, path, x, (size_t)views * sizeof *x, &object);
    free(x);
    TRY(e);
    TRY(store_array_add(s, name, &a));
    a->dtype = (struct store_dtype){'f', 4, 0};
    a->dims = 1;
    a->shape[0] = views;
    a->axis[0] = "theta";
    return store_contiguous(s, a, object, 0);
}

/* Adds one flat field, or several that are numbered. */
static enum err add_references(struct store *s, const struct cfb *c, uint32_t rows,
                               uint32_t columns)
{
    uint32_t type, n = 0;
    char path[64] = "MultiReferenceData/Image1";
    if (cfb_find(c, "ReferenceData/Image") && txrm_number(c, "ReferenceData/DataType", &type))
        return add_image(s, c, "reference", type, 1, rows, columns, "ReferenceData/Image");
    while (n < VIEWS_MOST && cfb_find(c, path))
        snprintf(path, sizeof path, "MultiReferenceData/Image%u", ++n + 1);
    if (!n || !txrm_number(c, "MultiReferenceData/DataType", &type))
        return ERR_OK;
    return add_image(s, c, "reference", type, n, rows, columns, NULL);
}

static enum err fill_from(struct store *s, const struct cfb *c)
{
    uint32_t width, height, views, type;
    float value;
    FAIL_IF(!txrm_number(c, "ImageInfo/ImageWidth", &width) ||
                !txrm_number(c, "ImageInfo/ImageHeight", &height) ||
                !txrm_number(c, "ImageInfo/NoOfImages", &views) ||
                !txrm_number(c, "ImageInfo/DataType", &type),
            ERR_INPUT, "%s: a compound file without ImageInfo: not a TXRM scan", s->name);
    TRY(add_image(s, c, "data", type, views, height, width, NULL));
    TRY(add_values(s, c, "angles", "ImageInfo/Angles", views));
    TRY(add_values(s, c, "x_shifts", "alignment/x-shifts", views));
    TRY(add_values(s, c, "y_shifts", "alignment/y-shifts", views));
    TRY(add_references(s, c, height, width));
    static const struct {
        const char *name, *path;
    } numbers[] = {{"pixel_size_um", "ImageInfo/PixelSize"},
                   {"detector_pixel_size_um", "ImageInfo/CamPixelSize"},
                   {"source_iso_distance", "ImageInfo/StoRADistance"},
                   {"detector_iso_distance", "ImageInfo/DtoRADistance"},
                   {"center_shift", "AutoRecon/CenterShift"}, /* the first is taken */
                   {"center_shift", "ReconSettings/CenterShift"}};
    for (size_t i = 0; i < c->streams_count; i++)
        if (strstr(c->streams[i].path, "ConfigZonePlates")) { /* Xradia Ultra: parallel beams */
            TRY(store_note_add(s, "zone_plate", "1"));
            break;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (txrm_number(c, numbers[i].path, &value))
            TRY(store_note_add(s, numbers[i].name, "%.9g", (double)value));
    return ERR_OK;
}

static enum err txrm_open_here(const void *file, struct store **out)
{
    const struct reader_file *f = file;
    struct cfb c;
    int32_t object;
    TRY(store_make(f->path, "Zeiss TXRM", out));
    enum err e = store_object_add(*out, NULL, f->path, &object);
    if (!e)
        e = cfb_open(*out, object, &c);
    if (!e) {
        e = fill_from(*out, &c);
        cfb_close(&c);
    }
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

/* In a child: compound files are tables that lead to tables. */
static enum err txrm_open(const struct reader_file *f, struct store **out)
{
    return guarded_open(f->path, "Zeiss TXRM", txrm_open_here, f, out);
}

const struct reader reader_txrm = {"Zeiss TXRM", "TXRM", txrm_knows, txrm_open};
