/* Decodes by libtiff, the reader of last resort: the program opens the library when it meets such a
 * page. */
#include <stdio.h>
#include <string.h>

#include "host/store/codec/codecs.h"
#include "host/store/codec/libtiff.h"

const char *libtiff_name(int compression)
{
    static const struct {
        int compression;
        const char *name;
    } rows[] = {{1, "bits in reverse order"},
                {2, "CCITT RLE"},
                {3, "CCITT group 3 fax"},
                {4, "CCITT group 4 fax"},
                {5, "LZW of old programs"},
                {8, "deflate, bits in reverse order"},
                {32766, "NeXT RLE"},
                {32771, "CCITT RLE in words"},
                {32773, "PackBits, bits in reverse order"},
                {32809, "ThunderScan"},
                {32946, "deflate, bits in reverse order"},
                {34661, "JBIG"},
                {34887, "LERC"},
                {34925, "LZMA"},
                {50000, "zstd, bits in reverse order"},
                {50001, "WebP"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].compression == compression)
            return rows[i].name;
    return NULL;
}

#ifdef TP_TIFF_LIBRARY
#include <tiffio.h>

#include "base/jail/late.h"

static struct {
    __typeof__(TIFFClientOpen) *TIFFClientOpen;
    __typeof__(TIFFClose) *TIFFClose;
    __typeof__(TIFFIsCODECConfigured) *TIFFIsCODECConfigured;
    __typeof__(TIFFReadEncodedStrip) *TIFFReadEncodedStrip;
    __typeof__(TIFFReadEncodedTile) *TIFFReadEncodedTile;
    __typeof__(TIFFSetErrorHandler) *TIFFSetErrorHandler;
    __typeof__(TIFFSetWarningHandler) *TIFFSetWarningHandler;
} tiff_calls;

static const struct late_symbol tiff_symbols[] = {
    LATE_SYMBOL(tiff_calls, TIFFClientOpen),        LATE_SYMBOL(tiff_calls, TIFFClose),
    LATE_SYMBOL(tiff_calls, TIFFIsCODECConfigured), LATE_SYMBOL(tiff_calls, TIFFReadEncodedStrip),
    LATE_SYMBOL(tiff_calls, TIFFReadEncodedTile),   LATE_SYMBOL(tiff_calls, TIFFSetErrorHandler),
    LATE_SYMBOL(tiff_calls, TIFFSetWarningHandler)};
static struct late_library tiff_library =
    LATE_LIBRARY(TP_TIFF_LIBRARY, TP_TIFF_PATH, tiff_symbols, "libtiff",
                 "libtiff6 (Debian) or libtiff (Fedora, Arch)");

int libtiff_available(void)
{
    if (!late_open(&tiff_library) || !tiff_calls.TIFFSetWarningHandler)
        return 0;
    tiff_calls.TIFFSetErrorHandler(NULL);
    tiff_calls.TIFFSetWarningHandler(NULL);
    return 1;
}

const char *libtiff_why(void)
{
    return late_why(&tiff_library);
}

const char *libtiff_missing(int compression)
{
    if (!libtiff_available())
        return libtiff_why();
    return tiff_calls.TIFFIsCODECConfigured((uint16_t)compression)
               ? NULL
               : "the libtiff that is installed was made without it";
}

/* ---- a file in memory ---- */

struct tiff_memory {
    unsigned char *bytes;
    size_t size, at;
};

static tmsize_t memory_read(thandle_t handle, void *to, tmsize_t n)
{
    struct tiff_memory *m = handle;
    const size_t left = m->at < m->size ? m->size - m->at : 0, take = n < 0              ? 0
                                                                      : (size_t)n < left ? (size_t)n
                                                                                         : left;
    memcpy(to, m->bytes + (take ? m->at : 0), take);
    m->at += take;
    return (tmsize_t)take;
}

static tmsize_t memory_write(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle, (void)from, (void)n;
    return -1;
}

static toff_t memory_seek(thandle_t handle, toff_t offset, int whence)
{
    struct tiff_memory *m = handle;
    m->at = whence == SEEK_SET ? offset : whence == SEEK_CUR ? m->at + offset : m->size + offset;
    return m->at;
}

static int memory_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t memory_size(thandle_t handle)
{
    return ((struct tiff_memory *)handle)->size;
}

static int memory_map(thandle_t handle, void **base, toff_t *size)
{
    (void)handle, (void)base, (void)size;
    return 0; /* read */
}

static void memory_unmap(thandle_t handle, void *base, toff_t size)
{
    (void)handle, (void)base, (void)size;
}

/* ---- its directory ---- */

#define ENTRIES_MOST 24
#define TAIL_BYTES   (2 + 12 * ENTRIES_MOST + 4 + 4096)
enum { TIFF_SHORT_TYPE = 3, TIFF_LONG_TYPE = 4 };

struct tiff_writer {
    unsigned char *bytes;
    size_t entry, values; /* where the next ones are put */
    int big, count;
};

static void writer_put(const struct tiff_writer *w, size_t at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        w->bytes[at + (size_t)(w->big ? bytes - 1 - i : i)] = (unsigned char)(v >> (8 * i));
}

/* Writes a tag whose values are the same, or two. Tags come in ascending order. */
static void writer_tag(struct tiff_writer *w, int tag, int type, int64_t count,
                       const int64_t value[2])
{
    const int bytes = type == TIFF_SHORT_TYPE ? 2 : 4;
    const size_t total = (size_t)count * (size_t)bytes, inside = w->entry + 8;
    const size_t at = total <= 4 ? inside : w->values;
    writer_put(w, w->entry, (uint64_t)tag, 2);
    writer_put(w, w->entry + 2, (uint64_t)type, 2);
    writer_put(w, w->entry + 4, (uint64_t)count, 4);
    if (total > 4) {
        writer_put(w, inside, w->values, 4);
        w->values += total + (total & 1);
    }
    for (int64_t i = 0; i < count; i++)
        writer_put(w, at + (size_t)i * (size_t)bytes, (uint64_t)value[i == 1], bytes);
    w->entry += 12;
    w->count++;
}

/* The bytes of a strip or tile between a header and a directory. */
static enum err tiff_build(const struct codec_call *c, const struct libtiff_page *p, int64_t rows,
                           struct tiff_memory *out)
{
    const struct codec_step *s = c->step;
    const size_t place = 8 + c->in_bytes + (c->in_bytes & 1);
    TRY(codec_spare(c->worker, 2, place + TAIL_BYTES));
    struct tiff_writer w = {c->worker->spare[2], place + 2, place + 2 + 12 * ENTRIES_MOST + 4,
                            s->swap, 0};
    memset(w.bytes, 0, 8);
    memset(w.bytes + 8 + c->in_bytes, 0, place - 8 - c->in_bytes + TAIL_BYTES);
    memcpy(w.bytes, s->swap ? "MM" : "II", 2);
    writer_put(&w, 2, 42, 2);
    writer_put(&w, 4, place, 4);
    memcpy(w.bytes + 8, c->in, c->in_bytes);
    const struct {
        int tag, type;
        int64_t count, value;
    } rows_of[] = {{256, TIFF_LONG_TYPE, 1, s->row},
                   {257, TIFF_LONG_TYPE, 1, rows},
                   {258, TIFF_SHORT_TYPE, s->samples, s->item},
                   {259, TIFF_SHORT_TYPE, 1, p->compression},
                   {262, TIFF_SHORT_TYPE, 1, p->photometric},
                   {266, TIFF_SHORT_TYPE, 1, p->fill_order},
                   {273, TIFF_LONG_TYPE, !p->is_tile, 8},
                   {277, TIFF_SHORT_TYPE, 1, s->samples},
                   {278, TIFF_LONG_TYPE, !p->is_tile, rows},
                   {279, TIFF_LONG_TYPE, !p->is_tile, (int64_t)c->in_bytes},
                   {284, TIFF_SHORT_TYPE, 1, 1},
                   {317, TIFF_SHORT_TYPE, p->predictor > 1, p->predictor},
                   {322, TIFF_LONG_TYPE, p->is_tile, s->row},
                   {323, TIFF_LONG_TYPE, p->is_tile, rows},
                   {324, TIFF_LONG_TYPE, p->is_tile, 8},
                   {325, TIFF_LONG_TYPE, p->is_tile, (int64_t)c->in_bytes},
                   {339, TIFF_SHORT_TYPE, s->samples, p->format},
                   {INT32_MAX, 0, 0, 0}};
    int extra = 0;
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
        for (;
             extra < LIBTIFF_EXTRAS && p->extra[extra].tag && p->extra[extra].tag < rows_of[i].tag;
             extra++)
            writer_tag(&w, p->extra[extra].tag, TIFF_LONG_TYPE, p->extra[extra].count,
                       p->extra[extra].value);
        if (rows_of[i].count)
            writer_tag(&w, rows_of[i].tag, rows_of[i].type, rows_of[i].count,
                       (const int64_t[]){rows_of[i].value, rows_of[i].value});
    }
    writer_put(&w, place, (uint64_t)w.count, 2);
    *out = (struct tiff_memory){w.bytes, place + TAIL_BYTES, 0};
    return ERR_OK;
}

/* libtiff gives samples in this processor's order of bytes, highest bits first. */
enum err codec_libtiff(const struct codec_call *c)
{
    struct libtiff_page p;
    const struct codec_step *s = c->step;
    struct tiff_memory m;
    FAIL_IF(!libtiff_available(), ERR_UNSUPPORTED, "%s",
            *libtiff_why() ? libtiff_why() : "libtiff was not opened before its child began");
    if (s->tables_bytes != sizeof p || s->row < 1 || s->samples < 1 || s->samples > 512 ||
        s->item < 1 || s->item > 64)
        return CODEC_DAMAGED(c, "its page is not described");
    memcpy(&p, s->tables, sizeof p);
    const size_t row = ((size_t)s->row * (size_t)s->samples * (size_t)s->item + 7) / 8;
    FAIL_IF(c->in_bytes > INT32_MAX || c->out_bytes > INT32_MAX, ERR_UNSUPPORTED,
            "strips and tiles above 2 GiB are not read by libtiff");
    if (!c->out_bytes || c->out_bytes % row)
        return CODEC_DAMAGED(c, "rows are incomplete");
    TRY(tiff_build(c, &p, (int64_t)(c->out_bytes / row), &m));
    TIFF *t = tiff_calls.TIFFClientOpen("memory", "rm", &m, memory_read, memory_write, memory_seek,
                                        memory_close, memory_size, memory_map, memory_unmap);
    if (!t)
        return CODEC_DAMAGED(c, "libtiff does not open it");
    const tmsize_t got =
        (p.is_tile ? tiff_calls.TIFFReadEncodedTile
                   : tiff_calls.TIFFReadEncodedStrip)(t, 0, c->out, (tmsize_t)c->out_bytes);
    tiff_calls.TIFFClose(t);
    return got == (tmsize_t)c->out_bytes ? ERR_OK : CODEC_DAMAGED(c, "libtiff does not decode it");
}
#else
int libtiff_available(void)
{
    return 0;
}

const char *libtiff_why(void)
{
    return "";
}

const char *libtiff_missing(int compression)
{
    (void)compression;
    return "it needs libtiff, which this build lacks: install libtiff-dev and build again";
}

enum err codec_libtiff(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED, "TIFF data of this compression cannot be read by this build: "
                                 "install libtiff-dev and build again");
}
#endif
