/* Arrays from pages of TIFF files that share one layout: shape, codecs and chunks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "host/store/codec/libtiff.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/tiff_page.h"

#define YCBCR 6 /* photometric interpretation */

/* Compressions of TIFF that are not read, for the error. */
static const char *compression_name(int compression)
{
    static const struct {
        int compression;
        const char *name;
    } rows[] = {{6, "old-style JPEG"}, {9, "JBIG"},          {10, "JBIG"},
                {33003, "JPEG 2000"},  {33005, "JPEG 2000"}, {34676, "SGI LogLuv"},
                {34677, "SGI LogLuv"}, {34712, "JPEG 2000"}, {34892, "lossy JPEG"},
                {50002, "JPEG XL"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].compression == compression)
            return rows[i].name;
    return "unknown";
}

/* Tables of JPEG that all strips or tiles of the page share. */
static enum err set_jpeg(struct store *s, const struct tiff_page *p, struct codec_pipeline *line)
{
    const int64_t n = p->jpeg_tables.count;
    struct codec_step *step = &line->step[0];
    const int samples = p->planar == 2 ? 1 : p->samples;
    FAIL_IF(p->bits != 8 || (samples != 1 && samples != 3) ||
                (p->planar == 2 && p->photometric == YCBCR),
            ERR_UNSUPPORTED,
            "%s: JPEG of %d samples of %d bits is not read; 1 or 3 samples of 8 bits are. Convert "
            "it with tiffcp -c zip",
            s->name, p->samples, p->bits);
    step->row = (int)(p->tile_width ? p->tile_width : p->width);
    step->samples = samples;
    step->colours = p->photometric == YCBCR ? CODEC_YCBCR : CODEC_AS_STORED;
    if (!n)
        return ERR_OK;
    FAIL_IF(n < 4 || n > 65536, ERR_INPUT, "%s: has %lld bytes of JPEG tables", s->name,
            (long long)n);
    unsigned char *tables = arena_take(s->arena, (size_t)n);
    FAIL_IF(!tables, ERR_MEMORY, "%s: no memory left", s->name);
    TRY(store_object_read(s, p->object, p->jpeg_tables.offset, tables, (size_t)n));
    step->tables = tables;
    step->tables_bytes = (size_t)n;
    return ERR_OK;
}

/* Samples of a row of a strip or tile. */
static struct codec_step tiff_step(const struct tiff_page *p, enum codec codec, int item)
{
    return (struct codec_step){.codec = codec,
                               .item = item,
                               .row = (int)(p->tile_width ? p->tile_width : p->width),
                               .samples = p->planar == 2 ? 1 : p->samples,
                               .swap = p->swap};
}

/* Programs before TIFF 5 wrote the bits of LZW in the other order: the first code clears the table. */
static enum err lzw_is_old(struct store *s, const struct tiff_page *p, int *old)
{
    unsigned char head[2] = {0};
    int64_t at, n;
    *old = 0;
    TRY(tiff_value(s, p, &p->offsets, 0, &at));
    TRY(tiff_value(s, p, &p->counts, 0, &n));
    if (n >= 2)
        TRY(store_object_read(s, p->object, at, head, sizeof head));
    *old = !head[0] && head[1] & 1;
    return ERR_OK;
}

/* Describes the page to libtiff. The meaning of colours does not change what it decodes. */
static enum err set_libtiff(struct store *s, struct store_array *a, const struct tiff_page *p,
                            struct codec_pipeline *line)
{
    const char *missing = libtiff_missing(p->compression);
    const int compression = p->compression, is_fax = compression == 3 || compression == 4;
    const int predicts = compression == 5 || compression == 8 || compression == 32946 ||
                         compression == 34925 || compression == 50000;
    FAIL_IF(missing, ERR_UNSUPPORTED,
            "%s: compression %d (%s): %s, or convert it with tiffcp -c zip", s->name, compression,
            libtiff_name(compression), missing);
    struct libtiff_page *page = arena_take(s->arena, sizeof *page);
    FAIL_IF(!page, ERR_MEMORY, "%s: no memory left", s->name);
    *page = (struct libtiff_page){.compression = compression,
                                  .photometric = p->samples > 2 ? 2 : 1,
                                  .predictor = predicts ? p->predictor : 1,
                                  .format = p->format,
                                  .fill_order = p->fill_order == 2 ? 2 : 1,
                                  .is_tile = p->tile_height > 0};
    if (is_fax)
        page->extra[0] = (struct libtiff_extra){289 + compression, 1, {p->fax[compression - 3]}};
    if (compression == 34887) {
        struct libtiff_extra *lerc = &page->extra[0];
        FAIL_IF(p->lerc.count != 2, ERR_INPUT, "%s: lacks the parameters of LERC (tag 50674)",
                s->name);
        *lerc = (struct libtiff_extra){.tag = 50674, .count = 2};
        for (int i = 0; i < 2; i++)
            TRY(tiff_value(s, p, &p->lerc, i, &lerc->value[i]));
    }
    line->step[0] = tiff_step(p, CODEC_LIBTIFF, p->bits);
    line->step[0].tables = (const unsigned char *)page;
    line->step[0].tables_bytes = sizeof *page;
    line->count = 1;
    a->dtype.swap = 0;
    if (p->bits % 8 || p->bits == 24)
        line->step[line->count++] = tiff_step(p, CODEC_UNPACK, p->bits);
    line->step[1].swap = 0; /* libtiff gives this processor's order */
    return ERR_OK;
}

static enum err tiff_set_pipeline(struct store *s, struct store_array *a, const struct tiff_page *p)
{
    static const struct {
        int compression;
        enum codec codec;
    } rows[] = {{5, CODEC_LZW},      {7, CODEC_JPEG},         {8, CODEC_ZLIB},
                {32946, CODEC_ZLIB}, {32773, CODEC_PACKBITS}, {50000, CODEC_ZSTD}};
    struct codec_pipeline *line = &a->pipelines[0];
    int old = 0;
    a->pipelines_count = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].compression == p->compression)
            line->step[line->count++].codec = rows[i].codec;
    const int own = p->compression == 1 || line->count, odd = p->bits % 8 || p->bits == 24;
    FAIL_IF(!own && !libtiff_name(p->compression), ERR_UNSUPPORTED,
            "%s: compression %d (%s) is not read; deflate, zstd, LZW, PackBits, JPEG, LZMA, WebP, "
            "CCITT, LERC, JBIG and none are. Convert it with tiffcp -c zip",
            s->name, p->compression, compression_name(p->compression));
    FAIL_IF(p->compression != 7 && p->photometric == YCBCR && !p->whole_colours, ERR_UNSUPPORTED,
            "%s: YCbCr with subsampled colours is read from JPEG alone. Convert it with tiff2rgba",
            s->name);
    if (p->compression == 7)
        return set_jpeg(s, p, line);
    FAIL_IF((odd && p->predictor != 1) || p->predictor > 3, ERR_UNSUPPORTED,
            "%s: predictor %d of samples of %d bits is not read. Convert it with tiffcp -c zip",
            s->name, p->predictor, p->bits);
    if (p->compression == 5)
        TRY(lzw_is_old(s, p, &old));
    if (!own || old || p->fill_order == 2)
        return set_libtiff(s, a, p, line);
    if (odd)
        line->step[line->count++] = tiff_step(p, CODEC_UNPACK, p->bits);
    if (odd)
        a->dtype.swap = 0;
    if (p->predictor == 1 || p->compression == 1)
        return ERR_OK;
    line->step[line->count++] =
        tiff_step(p, p->predictor == 2 ? CODEC_PREDICT : CODEC_PREDICT_FLOAT, p->bits / 8);
    if (p->predictor == 3) /* its bytes are always highest first */
        a->dtype.swap = 0;
    return ERR_OK;
}

/* Dimensions: pages (where there are several), separate samples, rows, columns, samples. */
static enum err tiff_set_shape(struct store *s, struct store_array *a, const struct tiff_page *p,
                               int64_t pages, const struct tiff_axes *axes, int64_t strip_rows)
{
    const int64_t th = p->tile_height ? p->tile_height : strip_rows;
    const int64_t tw = p->tile_width ? p->tile_width : p->width;
    struct {
        int there;
        const char *axis;
        int64_t shape, chunk;
    } rows[] = {{pages > 1 && !axes, NULL, pages, 1},
                {p->samples > 1 && p->planar == 2, "c", p->samples, 1},
                {1, "y", p->height, th},
                {1, "x", p->width, tw},
                {p->samples > 1 && p->planar != 2, "c", p->samples, p->samples}};
    a->dtype = (struct store_dtype){p->format == 3   ? 'f'
                                    : p->format == 2 ? 'i'
                                    : p->bits == 1   ? 'b'
                                                     : 'u',
                                    (unsigned char)(p->bits == 24 ? 4 : (p->bits + 7) / 8),
                                    p->swap && p->bits >= 16};
    FAIL_IF(p->format > 3, ERR_UNSUPPORTED, "%s: sample format %d is not read", s->name, p->format);
    FAIL_IF(p->format == 3 && (p->bits < 16 || p->bits == 24), ERR_UNSUPPORTED,
            "%s: floats of %d bits are not read; 16, 32 and 64 are", s->name, p->bits);
    FAIL_IF(p->format == 2 && (p->bits % 8 || p->bits == 24), ERR_UNSUPPORTED,
            "%s: signed samples of %d bits are not read; unsigned ones are", s->name, p->bits);
    for (int i = 0; axes && i < axes->count; i++) {
        a->axis[a->dims] = axes->axis[i];
        a->spacing[a->dims] = axes->spacing[i];
        a->unit[a->dims] = axes->unit[i];
        a->shape[a->dims] = axes->size[i];
        a->chunk[a->dims++] = 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].there) {
            a->axis[a->dims] = rows[i].axis;
            a->shape[a->dims] = rows[i].shape;
            a->chunk[a->dims++] = rows[i].chunk;
        }
    if (axes)
        tiff_axes_of_pixels(a, axes);
    a->cut_edges = !p->tile_height; /* the last strip is short, tiles are whole */
    TRY(tiff_set_pipeline(s, a, p));
    return store_array_check(s, a);
}

/* Strips of an uncompressed page that follow each other are one chunk. */
static int page_in_one_piece(const struct tiff_page *p, const int64_t *at, const int64_t *n)
{
    if (p->compression != 1 || p->tile_height || p->planar == 2)
        return 0;
    for (int64_t i = 1; i < p->offsets.count; i++)
        if (at[i] != at[i - 1] + n[i - 1])
            return 0;
    return 1;
}

static enum err page_chunks(struct store *s, struct store_array *a, const struct tiff_page *p,
                            int64_t first, int64_t per_page, int whole)
{
    int64_t *at = NULL, *n = NULL;
    enum err e;
    TRY_OUT(tiff_all_values(s, p, &p->offsets, &at));
    TRY_OUT(tiff_all_values(s, p, &p->counts, &n));
    if (p->offsets.count != p->counts.count || (!whole && p->offsets.count < per_page)) {
        e = FAIL(ERR_INPUT, "%s: a page has %lld strips or tiles, %lld are needed", s->name,
                 (long long)p->offsets.count, (long long)per_page);
        goto out;
    }
    for (int64_t i = 1; whole && i < p->offsets.count; i++)
        if (at[i] != at[i - 1] + n[i - 1])
            e = FAIL(ERR_INPUT, "%s: some pages are in one piece and some are not", s->name);
    for (int64_t i = 1; whole && i < p->offsets.count; i++)
        n[0] = at[i] + n[i] - at[0];
    for (int64_t i = 0; i < per_page && !e; i++)
        e = store_chunk_set(
            s, a, first + i,
            (struct store_chunk){.object = p->object, .offset = at[i], .stored = n[i]});
out:
    free(at);
    free(n);
    return e;
}

enum err tiff_array_imagej(struct store *s, const struct tiff_page *p, int64_t images,
                           const struct tiff_axes *axes)
{
    struct store_array *a;
    int64_t at;
    TRY(tiff_page_judge(s, p));
    TRY(store_array_add(s, "data", &a));
    TRY(tiff_set_shape(s, a, p, images, axes, p->height));
    TRY(tiff_value(s, p, &p->offsets, 0, &at));
    return store_contiguous(s, a, p->object, at);
}

enum err tiff_array_add(struct store *s, const char *name, const struct tiff_pages *all,
                        const size_t *which, int64_t count, const struct tiff_axes *axes)
{
    const struct tiff_page *p = &all->items[which[0]];
    struct store_array *a;
    int64_t *at = NULL, *n = NULL, per_page = 1;
    TRY(tiff_page_judge(s, p));
    TRY(store_array_add(s, name, &a));
    enum err e = tiff_all_values(s, p, &p->offsets, &at);
    if (!e)
        e = tiff_all_values(s, p, &p->counts, &n);
    int whole = !e && p->offsets.count == p->counts.count && page_in_one_piece(p, at, n);
    free(at);
    free(n);
    TRY(e);
    const int64_t rows = p->rows_per_strip > 0 ? p->rows_per_strip : p->height;
    TRY(tiff_set_shape(s, a, p, count, axes, whole || rows > p->height ? p->height : rows));
    for (int d = axes ? axes->count : count > 1; d < a->dims; d++)
        per_page *= a->grid[d];
    FAIL_IF(!whole && per_page > p->offsets.count, ERR_INPUT,
            "%s: a page has %lld strips or tiles, %lld are needed", s->name,
            (long long)p->offsets.count, (long long)per_page);
    TRY(store_chunks_room(s, a));
    for (int64_t i = 0; i < count; i++)
        TRY(tiff_page_failed(
            s, &all->items[which[i]],
            page_chunks(s, a, &all->items[which[i]], i * per_page, per_page, whole)));
    return ERR_OK;
}
