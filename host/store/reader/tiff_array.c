/* Arrays from pages of TIFF files that share one layout: shape, codecs and chunks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/tiff_page.h"

#define YCBCR 6 /* photometric interpretation */

/* Compressions of TIFF that are not read, for the error. */
static const char *compression_name(int compression)
{
    static const struct {
        int compression;
        const char *name;
    } rows[] = {{2, "CCITT RLE"},
                {3, "CCITT group 3 fax"},
                {4, "CCITT group 4 fax"},
                {6, "old-style JPEG"},
                {9, "JBIG"},
                {10, "JBIG"},
                {32766, "NeXT RLE"},
                {32809, "ThunderScan"},
                {33003, "JPEG 2000"},
                {33005, "JPEG 2000"},
                {34661, "JBIG"},
                {34676, "SGI LogLuv"},
                {34677, "SGI LogLuv"},
                {34712, "JPEG 2000"},
                {34887, "LERC"},
                {34892, "lossy JPEG"},
                {34925, "LZMA"},
                {50001, "WebP"},
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

static enum err tiff_set_pipeline(struct store *s, struct store_array *a, const struct tiff_page *p)
{
    static const struct {
        int compression;
        enum codec codec;
    } rows[] = {{5, CODEC_LZW},      {7, CODEC_JPEG},         {8, CODEC_ZLIB},
                {32946, CODEC_ZLIB}, {32773, CODEC_PACKBITS}, {50000, CODEC_ZSTD}};
    struct codec_pipeline *line = &a->pipelines[0];
    a->pipelines_count = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].compression == p->compression)
            line->step[line->count++].codec = rows[i].codec;
    FAIL_IF(p->compression != 1 && !line->count, ERR_UNSUPPORTED,
            "%s: compression %d (%s) is not read; deflate, zstd, LZW, PackBits, JPEG and none "
            "are. Convert it with tiffcp -c zip",
            s->name, p->compression, compression_name(p->compression));
    FAIL_IF(p->compression != 7 && p->photometric == YCBCR && !p->whole_colours, ERR_UNSUPPORTED,
            "%s: YCbCr with subsampled colours is read from JPEG alone. Convert it with tiff2rgba",
            s->name);
    if (p->compression == 7)
        return set_jpeg(s, p, line);
    FAIL_IF(p->bits % 8 && p->predictor != 1, ERR_UNSUPPORTED,
            "%s: predictor %d of samples of %d bits is not read. Convert it with tiffcp -c zip",
            s->name, p->predictor, p->bits);
    if (p->bits % 8)
        line->step[line->count++] =
            (struct codec_step){.codec = CODEC_UNPACK,
                                .item = p->bits,
                                .row = (int)(p->tile_width ? p->tile_width : p->width),
                                .samples = p->planar == 2 ? 1 : p->samples};
    if (p->predictor == 1 || p->compression == 1)
        return ERR_OK;
    FAIL_IF(p->predictor > 3, ERR_UNSUPPORTED, "%s: predictor %d is not known", s->name,
            p->predictor);
    line->step[line->count++] =
        (struct codec_step){.codec = p->predictor == 2 ? CODEC_PREDICT : CODEC_PREDICT_FLOAT,
                            .item = p->bits / 8,
                            .row = (int)(p->tile_width ? p->tile_width : p->width),
                            .samples = p->planar == 2 ? 1 : p->samples,
                            .swap = p->swap};
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
                                    (unsigned char)((p->bits + 7) / 8), p->swap && p->bits >= 16};
    FAIL_IF(p->format > 3, ERR_UNSUPPORTED, "%s: sample format %d is not read", s->name, p->format);
    FAIL_IF(p->format == 3 && p->bits < 16, ERR_INPUT, "%s: floats of %d bits", s->name, p->bits);
    FAIL_IF(p->format == 2 && p->bits % 8, ERR_UNSUPPORTED,
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
