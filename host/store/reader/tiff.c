/* TIFF and BigTIFF: pages of one layout are one array; a folder of numbered files is one, too. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/arena.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"
#include "host/store/reader/tiff_page.h"

#define LAYOUTS_MOST 64

static int knows(const struct reader_file *f)
{
    return f->head_bytes >= 8 && (!memcmp(f->head, "II*\0", 4) || !memcmp(f->head, "MM\0*", 4) ||
                                  !memcmp(f->head, "II+\0", 4) || !memcmp(f->head, "MM\0+", 4));
}

/* Tables of JPEG that all strips or tiles of the page share. */
static enum err set_jpeg(struct store *s, const struct tiff_page *p, struct codec_pipeline *line)
{
    const int64_t n = p->jpeg_tables.count;
    struct codec_step *step = &line->step[0];
    FAIL_IF(p->bits != 8 || (p->samples != 1 && p->samples != 3) ||
                (p->planar == 2 && p->samples > 1),
            ERR_UNSUPPORTED,
            "%s: JPEG of %d samples of %d bits is not read; 1 or 3 interleaved ones of 8 bits are",
            s->name, p->samples, p->bits);
    step->row = (int)(p->tile_width ? p->tile_width : p->width);
    step->samples = p->samples;
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

static enum err set_pipeline(struct store *s, struct store_array *a, const struct tiff_page *p)
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
            "%s: compression %d is not read; deflate, zstd, LZW, PackBits, JPEG and none are. "
            "Convert it "
            "with tiffcp -c zip",
            s->name, p->compression);
    if (p->compression == 7)
        return set_jpeg(s, p, line);
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
static enum err set_shape(struct store *s, struct store_array *a, const struct tiff_page *p,
                          int64_t pages, int64_t strip_rows)
{
    const int64_t th = p->tile_height ? p->tile_height : strip_rows;
    const int64_t tw = p->tile_width ? p->tile_width : p->width;
    struct {
        int there;
        const char *axis;
        int64_t shape, chunk;
    } rows[] = {{pages > 1, NULL, pages, 1},
                {p->samples > 1 && p->planar == 2, "c", p->samples, 1},
                {1, "y", p->height, th},
                {1, "x", p->width, tw},
                {p->samples > 1 && p->planar != 2, "c", p->samples, p->samples}};
    a->dtype = (struct store_dtype){p->format == 3   ? 'f'
                                    : p->format == 2 ? 'i'
                                                     : 'u',
                                    (unsigned char)(p->bits / 8), p->swap && p->bits > 8};
    FAIL_IF(p->format > 3, ERR_UNSUPPORTED, "%s: sample format %d is not read", s->name, p->format);
    FAIL_IF(p->format == 3 && p->bits < 16, ERR_INPUT, "%s: floats of %d bits", s->name, p->bits);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].there) {
            a->axis[a->dims] = rows[i].axis;
            a->shape[a->dims] = rows[i].shape;
            a->chunk[a->dims++] = rows[i].chunk;
        }
    a->cut_edges = !p->tile_height; /* the last strip is short, tiles are whole */
    TRY(set_pipeline(s, a, p));
    return store_array_check(s, a);
}

/* Strips of an uncompressed page that follow each other are one chunk. */
static int in_one_piece(const struct tiff_page *p, const int64_t *at, const int64_t *n)
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

/* ImageJ writes stacks above 4 GiB with one directory: "images=N", one after the other. */
static int64_t imagej_images(struct store *s, const struct tiff_pages *pages)
{
    char text[2048];
    const struct tiff_page *p = &pages->items[0];
    tiff_text(s, p, &p->description, text, sizeof text);
    const char *n = strncmp(text, "ImageJ", 6) ? NULL : strstr(text, "images=");
    const long images = n ? strtol(n + 7, NULL, 10) : 1;
    return pages->count == 1 && p->compression == 1 && images > 1 ? images : 1;
}

static enum err add_imagej(struct store *s, struct store_array *a, const struct tiff_page *p,
                           int64_t images)
{
    int64_t at;
    TRY(set_shape(s, a, p, images, p->height));
    TRY(tiff_value(s, p, &p->offsets, 0, &at));
    a->axis[0] = "z";
    return store_contiguous(s, a, p->object, at);
}

static enum err add_array(struct store *s, const char *name, const struct tiff_pages *all,
                          const size_t *which, int64_t count)
{
    const struct tiff_page *p = &all->items[which[0]];
    struct store_array *a;
    int64_t *at = NULL, *n = NULL, per_page = 1;
    TRY(store_array_add(s, name, &a));
    enum err e = tiff_all_values(s, p, &p->offsets, &at);
    if (!e)
        e = tiff_all_values(s, p, &p->counts, &n);
    int whole = !e && p->offsets.count == p->counts.count && in_one_piece(p, at, n);
    free(at);
    free(n);
    TRY(e);
    const int64_t rows = p->rows_per_strip > 0 ? p->rows_per_strip : p->height;
    TRY(set_shape(s, a, p, count, whole || rows > p->height ? p->height : rows));
    for (int d = count > 1; d < a->dims; d++)
        per_page *= a->grid[d];
    FAIL_IF(!whole && per_page > p->offsets.count, ERR_INPUT,
            "%s: a page has %lld strips or tiles, %lld are needed", s->name,
            (long long)p->offsets.count, (long long)per_page);
    TRY(store_chunks_room(s, a));
    for (int64_t i = 0; i < count; i++)
        TRY(page_chunks(s, a, &all->items[which[i]], i * per_page, per_page, whole));
    return ERR_OK;
}

/* One array for each layout, in the order in which they come. */
static enum err add_arrays(struct store *s, const struct tiff_pages *all)
{
    size_t *which = malloc(all->count * sizeof *which);
    unsigned char *done = calloc(all->count, 1);
    enum err e = which && done ? ERR_OK : FAIL(ERR_MEMORY, "%s: no memory left", s->name);
    for (size_t i = 0, layouts = 0; i < all->count && !e; i++) {
        char name[32] = "data";
        int64_t n = 0;
        if (done[i] || ++layouts > LAYOUTS_MOST)
            continue;
        for (size_t k = i; k < all->count; k++)
            if (!done[k] && tiff_same_layout(&all->items[i], &all->items[k])) {
                which[n++] = k;
                done[k] = 1;
            }
        if (i)
            snprintf(name, sizeof name, "page%zu", i);
        e = add_array(s, name, all, which, n);
    }
    free(which);
    free(done);
    return e;
}

static enum err fill(struct store *s, const struct reader_file *f)
{
    struct tiff_pages pages = {0};
    struct store_array *a;
    int32_t object;
    TRY(store_object_add(s, NULL, f->path, &object));
    enum err e = tiff_pages_read(s, object, 0, &pages);
    if (!e && pages.count == 0)
        e = FAIL(ERR_INPUT, "%s: has no pages", f->path);
    if (!e) {
        const int64_t images = imagej_images(s, &pages);
        if (images > 1)
            e = store_array_add(s, "data", &a) ? ERR_MEMORY
                                               : add_imagej(s, a, &pages.items[0], images);
        else
            e = add_arrays(s, &pages);
    }
    free(pages.items);
    return e;
}

static enum err finish(enum err e, struct store **out)
{
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

static enum err open_tiff(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, f->head[2] == 43 || f->head[3] == 43 ? "BigTIFF" : "TIFF", out));
    return finish(fill(*out, f), out);
}

const struct reader reader_tiff = {"TIFF", knows, open_tiff};

/* "view_0012.tif": a name that ends in digits before its suffix. */
static int is_numbered(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name && (!strcasecmp(dot, ".tif") || !strcasecmp(dot, ".tiff")) &&
           isdigit((unsigned char)dot[-1]);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int select_numbered(const struct dirent *d)
{
    return is_numbered(d->d_name);
}

static int knows_stack(const struct reader_file *f)
{
    struct dirent **names;
    int n = f->is_folder ? scandir(f->path, &names, select_numbered, by_number) : -1;
    for (int i = 0; i < n; i++)
        free(names[i]);
    if (n >= 0)
        free(names);
    return n > 0;
}

/* "proj" of "proj_0001.tif". */
static size_t stem(const char *name)
{
    size_t n = (size_t)(strrchr(name, '.') - name);
    while (n > 0 && isdigit((unsigned char)name[n - 1]))
        n--;
    while (n > 0 && strchr("_-. ", name[n - 1]))
        n--;
    return n;
}

static int same_stem(const char *a, const char *b)
{
    return stem(a) == stem(b) && !strncmp(a, b, stem(a));
}

/* The files of one stem. */
static enum err add_stack(struct store *s, const char *folder, struct dirent **names, int n,
                          const char *name)
{
    struct tiff_pages pages = {0};
    enum err e = ERR_OK;
    for (int i = 0; i < n && !e; i++) {
        int32_t object;
        e = store_object_add(s, folder, names[i]->d_name, &object);
        if (!e)
            e = tiff_pages_read(s, object, 1, &pages);
        if (!e && pages.count != (size_t)i + 1)
            e = FAIL(ERR_INPUT, "%s/%s: has no pages", folder, names[i]->d_name);
        if (!e && !tiff_same_layout(&pages.items[0], &pages.items[i]))
            e = FAIL(ERR_INPUT, "%s: %s is laid out otherwise than %s; a stack has one layout",
                     folder, names[i]->d_name, names[0]->d_name);
    }
    size_t *which = calloc((size_t)(n > 0 ? n : 1), sizeof *which);
    for (int i = 0; which && i < n; i++)
        which[i] = (size_t)i;
    if (!e)
        e = which ? add_array(s, name, &pages, which, n) : FAIL(ERR_MEMORY, "no memory left");
    free(which);
    free(pages.items);
    return e;
}

static int by_length(const void *x, const void *y)
{
    const struct store_array *a = *(struct store_array *const *)x,
                             *b = *(struct store_array *const *)y;
    const int64_t m = store_elements(a), n = store_elements(b);
    return m != n ? (m > n ? -1 : 1) : strcmp(a->name, b->name);
}

/* One array for each stem, the largest first; `data` where there is one. */
static enum err fill_stack(struct store *s, const char *folder, struct dirent **names, int n)
{
    int first = 0, stems = 0;
    struct dirent **sorted = calloc((size_t)n + 1, sizeof *sorted);
    FAIL_IF(!sorted, ERR_MEMORY, "%s: no memory left for its names", folder);
    enum err e = ERR_OK;
    for (int done = 0; done < n && !e; stems++) {
        char name[256];
        int count = 0;
        while (!names[first])
            first++;
        const struct dirent *one = names[first];
        for (int i = first; i < n; i++)
            if (names[i] && same_stem(one->d_name, names[i]->d_name)) {
                sorted[count++] = names[i];
                if (i > first)
                    names[i] = NULL;
            }
        snprintf(name, sizeof name, "%.*s", (int)stem(one->d_name), one->d_name);
        e = add_stack(s, folder, sorted, count, count == n || !name[0] ? "data" : name);
        done += count;
        for (int i = 0; i < count; i++)
            free(sorted[i]);
        names[first] = NULL;
        if (stems == LAYOUTS_MOST && !e)
            e = FAIL(ERR_INPUT, "%s: has files of more than %d names: put each stack into a folder",
                     folder, LAYOUTS_MOST);
    }
    free(sorted);
    if (!e)
        array_sort(s->arrays, (size_t)s->arrays_count, sizeof *s->arrays, by_length);
    return e;
}

static enum err open_stack(const struct reader_file *f, struct store **out)
{
    struct dirent **names;
    int n = scandir(f->path, &names, select_numbered, by_number);
    FAIL_IF(n < 1, ERR_INPUT, "%s: has no numbered .tif files", f->path);
    enum err e = store_make(f->path, "TIFF stack", out);
    if (!e)
        e = finish(fill_stack(*out, f->path, names, n), out);
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return e;
}

const struct reader reader_tiff_stack = {"TIFF stack", knows_stack, open_stack};
