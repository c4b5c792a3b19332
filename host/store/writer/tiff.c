/* Arrays of two or three dimensions as uncompressed BigTIFF: a page for each plane. */
#include <stdio.h>
#include <string.h>

#include "host/store/writer/bricks.h"

#define TAGS      11
#define DIRECTORY (8 + 20 * TAGS + 8)

static void tiff_put(unsigned char *at, uint64_t v, int bytes)
{
    memcpy(at, &v, (size_t)bytes);
}

static int64_t page_bytes(const struct writer *w)
{
    return w->shape[w->dims - 1] * w->shape[w->dims - 2] * w->type.bytes;
}

static enum err tiff_begin(struct writer *w)
{
    unsigned char head[16] = {'I', 'I', 43, 0, 8};
    FAIL_IF(w->dims < 2 || w->dims > 3, ERR_UNSUPPORTED,
            "%s: the array has %d dimensions; TIFF takes 2 or 3", w->path, w->dims);
    FAIL_IF(w->type.kind == 'c', ERR_UNSUPPORTED, "%s: TIFF takes no complex numbers", w->path);
    tiff_put(head + 8, 16, 8);
    w->at = sizeof head + DIRECTORY;
    w->gap = w->dims == 3 ? DIRECTORY : 0;
    TRY(outfile_open(&w->file, w->path));
    snprintf(w->made, sizeof w->made, "%s", w->file.temporary ? w->file.temporary : "");
    return outfile_write(&w->file, head, sizeof head);
}

/* Fills a directory, which lies before its pixels; `last`: none follows. */
static void tiff_directory(const struct writer *w, int64_t page, int last, unsigned char *d)
{
    const int64_t bytes = page_bytes(w), at = 16 + page * (DIRECTORY + bytes);
    const struct {
        int tag, type;
        int64_t value;
    } rows[TAGS] = {{256, 4, w->shape[w->dims - 1]},
                    {257, 4, w->shape[w->dims - 2]},
                    {258, 3, w->type.bytes * 8},
                    {259, 3, 1},
                    {262, 3, 1},
                    {273, 16, at + DIRECTORY},
                    {277, 3, 1},
                    {278, 4, w->shape[w->dims - 2]},
                    {279, 16, bytes},
                    {284, 3, 1},
                    {339, 3,
                     w->type.kind == 'f'   ? 3
                     : w->type.kind == 'i' ? 2
                                           : 1}};
    memset(d, 0, DIRECTORY);
    tiff_put(d, TAGS, 8);
    for (int i = 0; i < TAGS; i++) {
        unsigned char *entry = d + 8 + 20 * i;
        tiff_put(entry, (uint64_t)rows[i].tag, 2);
        tiff_put(entry + 2, (uint64_t)rows[i].type, 2);
        tiff_put(entry + 4, 1, 8);
        tiff_put(entry + 12, (uint64_t)rows[i].value, 8);
    }
    tiff_put(d + DIRECTORY - 8, last ? 0 : (uint64_t)(at + DIRECTORY + bytes), 8);
}

static enum err tiff_put_box(struct writer *w, const struct engine_box *b, const void *data,
                             int threads)
{
    const int pages = w->dims == 3;
    const int64_t first = pages ? b->start[0] : 0, count = pages ? b->count[0] : 1,
                  last = pages ? w->shape[0] - 1 : 0;
    unsigned char d[DIRECTORY];
    for (int64_t i = first; i < first + count && !b->start[pages]; i++) {
        tiff_directory(w, i, i == last, d);
        TRY(writer_put_at(w, 16 + i * (DIRECTORY + page_bytes(w)), d, sizeof d));
    }
    return writer_put(w, b, data, threads);
}

static enum err tiff_write_directory(struct writer *w, int64_t page, int last)
{
    unsigned char d[DIRECTORY];
    tiff_directory(w, page, last, d);
    return outfile_write(&w->file, d, sizeof d);
}

/* Writes pages, or rows of the only one. */
static enum err tiff_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    const unsigned char *pages = data;
    if (w->dims == 2) {
        if (!first)
            TRY(tiff_write_directory(w, 0, 1));
        return outfile_write(&w->file, data, (size_t)(count * writer_slab_bytes(w)));
    }
    for (int64_t i = 0; i < count; i++) {
        TRY(tiff_write_directory(w, first + i, first + i + 1 == w->shape[0]));
        TRY(outfile_write(&w->file, pages + i * page_bytes(w), (size_t)page_bytes(w)));
    }
    return ERR_OK;
}

static enum err tiff_finish(struct writer *w, enum err e)
{
    return e ? e : outfile_flush(&w->file);
}

const struct writer_format write_tiff = {.suffix = ".tif",
                                         .begin = tiff_begin,
                                         .slab = tiff_slab,
                                         .put = tiff_put_box,
                                         .finish = tiff_finish};
