/* Arrays of two or three dimensions as uncompressed BigTIFF: a page for each plane. */
#include <stdio.h>
#include <string.h>

#include "host/store/writer/writer.h"

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
    TRY(outfile_open(&w->file, w->path));
    snprintf(w->made, sizeof w->made, "%s", w->file.temporary ? w->file.temporary : "");
    return outfile_write(&w->file, head, sizeof head);
}

/* A directory, then its pixels; `at` is where it lies, `last` whether another follows. */
static enum err tiff_write_page(struct writer *w, int64_t page, int last, const unsigned char *data)
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
    unsigned char d[DIRECTORY] = {0};
    tiff_put(d, TAGS, 8);
    for (int i = 0; i < TAGS; i++) {
        unsigned char *entry = d + 8 + 20 * i;
        tiff_put(entry, (uint64_t)rows[i].tag, 2);
        tiff_put(entry + 2, (uint64_t)rows[i].type, 2);
        tiff_put(entry + 4, 1, 8);
        tiff_put(entry + 12, (uint64_t)rows[i].value, 8);
    }
    tiff_put(d + DIRECTORY - 8, last ? 0 : (uint64_t)(at + DIRECTORY + bytes), 8);
    TRY(outfile_write(&w->file, d, sizeof d));
    return outfile_write(&w->file, data, (size_t)bytes);
}

static enum err tiff_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    const unsigned char *pages = data;
    if (w->dims == 2)
        return tiff_write_page(w, 0, 1, data);
    for (int64_t i = 0; i < count; i++)
        TRY(tiff_write_page(w, first + i, first + i + 1 == w->shape[0], pages + i * page_bytes(w)));
    return ERR_OK;
}

static enum err tiff_finish(struct writer *w, enum err e)
{
    return e ? e : outfile_flush(&w->file);
}

const struct writer_format write_tiff = {
    .suffix = ".tif", .begin = tiff_begin, .slab = tiff_slab, .finish = tiff_finish};
