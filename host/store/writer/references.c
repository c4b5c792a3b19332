/* References (kerchunk): any file whose chunks Zarr 2 can express, as a JSON file beside it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "base/text.h"
#include "host/store/manifest/manifest.h"
#include "host/store/writer/writer.h"

/* Numcodecs' name of a codec; NULL: it has none, or one that differs. */
static const char *numcodecs_name(enum codec codec)
{
    static const struct {
        enum codec codec;
        const char *name;
    } rows[] = {{CODEC_ZLIB, "zlib"},       {CODEC_GZIP, "gzip"},
                {CODEC_ZSTD, "zstd"},       {CODEC_CZI_ZSTD0, NULL},
                {CODEC_BLOSC, "blosc"},     {CODEC_LZ4, "lz4"},
                {CODEC_SHUFFLE, "shuffle"}, {CODEC_FLETCHER32, "fletcher32"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].codec == codec)
            return rows[i].name;
    return NULL;
}

/* 0: stored in C order, 1: in Fortran order, -1: otherwise. */
static int order_of(const struct store_array *a)
{
    int c = 1, f = 1;
    for (int i = 0; i < a->dims; i++) {
        c &= a->order[i] == i;
        f &= a->order[i] == a->dims - 1 - i;
    }
    return c ? 0 : f ? 1 : -1;
}

/* Raw arrays in one piece are one chunk: their last rows need not be a whole one. */
static int array_in_one_piece(const struct store_array *a)
{
    int64_t bytes = 0, first = INT64_MAX, last = 0;
    for (int64_t i = 0; i < a->chunks_count; i++) {
        const struct store_chunk *c = &a->chunks[i];
        if (c->object != a->chunks[0].object || c->object < 0 || a->pipelines[c->pipeline].count)
            return 0;
        first = c->offset < first ? c->offset : first;
        last = c->offset + c->stored > last ? c->offset + c->stored : last;
        bytes += c->stored;
    }
    return a->cut_edges && last - first == bytes && bytes == store_elements(a) * a->dtype.bytes;
}

/* NULL: it can be written; else the reason. */
static const char *references_obstacle(const struct store_array *a)
{
    int whole = 1;
    if (a->tiles)
        return "its tiles form no grid";
    if (order_of(a) < 0)
        return "its dimensions are in an order that Zarr 2 lacks";
    if (a->pipelines_count != 1)
        return "its chunks differ in their codecs";
    for (int i = 0; i < a->pipelines[0].count; i++)
        if (!numcodecs_name(a->pipelines[0].step[i].codec))
            return codec_name(a->pipelines[0].step[i].codec);
    for (int i = 0; i < a->dims; i++)
        whole &= a->shape[i] % a->chunk[i] == 0;
    for (int64_t i = 0; i < a->chunks_count; i++)
        if (a->chunks[i].skip)
            return "its chunks begin within a compressed block";
    return whole || !a->cut_edges || array_in_one_piece(a) ? NULL : "its last chunks are cut";
}

static void references_write_sizes(struct jsonw *j, const char *key, int n, const int64_t *v)
{
    jsonw_karray(j, key);
    for (int i = 0; i < n; i++)
        jsonw_int(j, v[i]);
    jsonw_end(j);
}

static void references_write_step(struct jsonw *j, const struct codec_step *s)
{
    jsonw_object(j);
    jsonw_kstring(j, "id", numcodecs_name(s->codec));
    if (s->codec == CODEC_SHUFFLE)
        jsonw_kint(j, "elementsize", s->item);
    jsonw_end(j);
}

static double fill_of(const struct store_array *a)
{
    unsigned char b[8];
    const int n = a->dtype.bytes < 8 ? a->dtype.bytes : 8;
    int64_t v = 0;
    float narrow;
    double wide;
    for (int i = 0; i < n; i++)
        b[i] = a->fill[a->dtype.swap ? n - 1 - i : i];
    memcpy(&v, b, (size_t)n);
    memcpy(&narrow, b, sizeof narrow);
    memcpy(&wide, b, sizeof wide);
    if (a->dtype.kind == 'f')
        return n == 8 ? wide : n == 4 ? (double)narrow : 0;
    if (a->dtype.kind == 'i' && n < 8)
        v = (int64_t)((uint64_t)v << (64 - 8 * n)) >> (64 - 8 * n);
    return (double)v;
}

static enum err references_write_array(struct store *s, const struct store_array *a,
                                       struct jsonw *j, const int64_t *chunk)
{
    char key[600], *text = NULL, dtype[16];
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    FAIL_IF(!f, ERR_MEMORY, "%s: no memory left", s->name);
    struct jsonw m;
    const struct codec_pipeline *p = &a->pipelines[0];
    const int packed =
        p->count && p->step[0].codec != CODEC_SHUFFLE && p->step[0].codec != CODEC_FLETCHER32;
    jsonw_init(&m, f, 0);
    snprintf(dtype, sizeof dtype, "%c%c%d",
             a->dtype.bytes == 1 ? '|'
             : a->dtype.swap     ? '>'
                                 : '<',
             a->dtype.kind, a->dtype.bytes);
    jsonw_object(&m);
    jsonw_kint(&m, "zarr_format", 2);
    references_write_sizes(&m, "shape", a->dims, a->shape);
    references_write_sizes(&m, "chunks", a->dims, chunk);
    jsonw_kstring(&m, "dtype", dtype);
    jsonw_knumber(&m, "fill_value", fill_of(a));
    jsonw_kstring(&m, "order", order_of(a) ? "F" : "C");
    jsonw_key(&m, "compressor");
    if (packed)
        references_write_step(&m, &p->step[0]);
    else
        jsonw_null(&m);
    jsonw_key(&m, "filters"); /* in the order of encoding */
    if (p->count > packed) {
        jsonw_array(&m);
        for (int i = p->count - 1; i >= packed; i--)
            references_write_step(&m, &p->step[i]);
        jsonw_end(&m);
    } else
        jsonw_null(&m);
    jsonw_end(&m);
    fclose(f);
    snprintf(key, sizeof key, "%.500s/.zarray", a->name);
    jsonw_kstring(j, key, text);
    free(text);
    return ERR_OK;
}

/* The path of an object from the folder of the references; NULL: it lies elsewhere. */
static const char *path_relative(const char *folder, const char *object, char path[PATH_MAX])
{
    const size_t n = strlen(folder);
    if (!realpath(object, path) || strncmp(path, folder, n) != 0 || path[n] != '/')
        return NULL;
    return path + n + 1;
}

static void references_chunk_key(const struct store_array *a, int64_t chunk, char *out, size_t room)
{
    int64_t at[STORE_DIMS];
    snprintf(out, room, "%.500s/", a->name);
    for (int i = a->dims - 1; i >= 0; i--) {
        at[i] = chunk % a->grid[i];
        chunk /= a->grid[i];
    }
    for (int i = 0; i < a->dims; i++)
        text_append(out, room, "%s%lld", i ? "." : "", (long long)at[i]);
    if (!a->dims)
        text_append(out, room, "0");
}

static void references_write_place(struct jsonw *j, const char *key, const char *name,
                                   int64_t offset, int64_t bytes)
{
    jsonw_karray(j, key);
    jsonw_string(j, name);
    jsonw_int(j, offset);
    jsonw_int(j, bytes);
    jsonw_end(j);
}

static enum err references_write_chunks(struct store *s, struct store_array *a, struct jsonw *j,
                                        const char *folder)
{
    char key[1000], path[PATH_MAX];
    const int one = array_in_one_piece(a);
    int64_t first = INT64_MAX;
    TRY(references_write_array(s, a, j, one ? a->shape : a->chunk));
    for (int64_t i = 0; i < a->chunks_count; i++) {
        const struct store_chunk *c = &a->chunks[i];
        if (c->object < 0)
            continue;
        const struct store_object *o = &s->objects[c->object];
        const char *name = o->memory ? NULL : path_relative(folder, o->name, path);
        FAIL_IF(!name, ERR_INPUT,
                "%s: references lead to files beside or below them, and not to %s: write them "
                "into its folder",
                folder, o->name);
        first = c->offset < first ? c->offset : first;
        references_chunk_key(a, one ? 0 : i, key, sizeof key);
        if (!one)
            references_write_place(j, key, name, c->offset, c->stored);
        else if (i + 1 == a->chunks_count)
            references_write_place(j, key, name, first, store_elements(a) * a->dtype.bytes);
    }
    return ERR_OK;
}

static int in_memory(const struct store *s, const struct store_array *a)
{
    for (int64_t i = 0; i < a->chunks_count; i++)
        if (a->chunks[i].object >= 0 && s->objects[a->chunks[i].object].memory)
            return 1;
    return 0;
}

static enum err references_write_all(struct store *s, const char *folder, const char *out,
                                     const struct writer_options *o, struct writer_result *r)
{
    struct outfile f;
    struct jsonw j;
    char lost[2000] = "";
    int written = 0, n = 0;
    TRY(outfile_open(&f, out));
    jsonw_init(&j, f.stream, 1);
    jsonw_object(&j);
    jsonw_kint(&j, "version", 1);
    jsonw_kobject(&j, "refs");
    jsonw_kstring(&j, ".zgroup", "{\"zarr_format\": 2}");
    enum err e = ERR_OK;
    for (int i = 0; i < s->arrays_count && !e; i++) {
        struct store_array *a = s->arrays[i];
        const char *reason = (e = store_index(s, a)) ? err_text() : references_obstacle(a);
        if (!reason && in_memory(s, a))
            reason = "its data are in a header";
        if (!e && !reason) {
            e = references_write_chunks(s, a, &j, folder);
            written += !e;
            r->bytes += store_elements(a) * a->dtype.bytes;
        } else if (!e && n < 1700)
            n += snprintf(lost + n, sizeof lost - (size_t)n, "%sarray %.100s (%.100s)",
                          n ? ", " : "", a->name, reason);
    }
    jsonw_end(&j);
    jsonw_end(&j);
    if (!e && !written)
        e = FAIL(ERR_UNSUPPORTED, "%s: cannot be written as references: %.500s", s->name, lost);
    if (!e && n && o->lost)
        o->lost(lost);
    if (!e)
        return outfile_commit(&f);
    outfile_abort(&f);
    return e;
}

enum err store_references(const char *in, const char *out, const struct writer_options *o,
                          struct writer_result *result)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct store *s;
    path_folder(out, path, sizeof path);
    FAIL_IF(o->scale, ERR_USAGE,
            "`apply_scale`: references copy no values; choose .zarr, .nii or another format");
    FAIL_IF(!realpath(path, folder), ERR_INPUT, "%s: %s", path, strerror(errno));
    TRY(store_open(in, &s));
    result->references = 1;
    enum err e = references_write_all(s, folder, out, o, result);
    store_close(s);
    return e;
}
