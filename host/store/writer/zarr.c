/* Arrays as Zarr stores of one array, version 2 or 3; chunks are compressed by all threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/json/jsonw.h"
#include "host/store/writer/outdir.h"
#include "host/store/writer/chunks.h"
#include "host/store/writer/slabs.h"

struct zarr_state {
    int version;
    int64_t chunk[STORE_DIMS];
    struct codec_pipeline pipeline;
    int64_t grid[STORE_DIMS];
    uint64_t *sums; /* of each chunk as it is stored; NULL: they are not encoded */
};

static void zarr_write_sizes(struct jsonw *j, const char *key, int n, const int64_t *v)
{
    jsonw_karray(j, key);
    for (int i = 0; i < n; i++)
        jsonw_int(j, v[i]);
    jsonw_end(j);
}

static void zarr_write_names(struct jsonw *j, const char *key, const struct writer *w)
{
    jsonw_karray(j, key);
    for (int i = 0; i < w->dims; i++) {
        const char *axis = w->source->axis[w->from[i]];
        char name[16];
        snprintf(name, sizeof name, "dim_%d", i);
        jsonw_string(j, axis ? axis : name);
    }
    jsonw_end(j);
}

/* Spacing and scale, by names of our own: neither version has keys for them. */
static void zarr_write_attributes(struct jsonw *j, const struct writer *w)
{
    const struct store_array *a = w->source;
    int known = 0;
    for (int i = 0; i < w->dims; i++)
        known |= a->spacing[w->from[i]] > 0;
    if (known) {
        jsonw_karray(j, "spacing");
        for (int i = 0; i < w->dims; i++)
            jsonw_number(j, a->spacing[w->from[i]]);
        jsonw_end(j);
        jsonw_karray(j, "units");
        for (int i = 0; i < w->dims; i++)
            jsonw_string(j, a->unit[w->from[i]]);
        jsonw_end(j);
    }
    if (a->slope != 1 || a->intercept != 0) {
        jsonw_knumber(j, "scale_factor", a->slope);
        jsonw_knumber(j, "add_offset", a->intercept);
    }
}

static void zarr_write_version2(struct jsonw *j, const struct writer *w, const struct zarr_state *z)
{
    const struct codec_step *s = &z->pipeline.step[0];
    char dtype[8];
    writer_dtype(w->type, dtype);
    jsonw_kint(j, "zarr_format", 2);
    zarr_write_sizes(j, "shape", w->dims, w->shape);
    zarr_write_sizes(j, "chunks", w->dims, z->chunk);
    jsonw_kstring(j, "dtype", dtype);
    jsonw_key(j, "compressor");
    if (z->pipeline.count) {
        jsonw_object(j);
        jsonw_kstring(j, "id", codec_name(s->codec));
        jsonw_kint(j, "level", s->level);
        jsonw_end(j);
    } else
        jsonw_null(j);
    jsonw_kint(j, "fill_value", 0);
    jsonw_kstring(j, "order", "C");
    jsonw_knull(j, "filters");
}

static void zarr_write_codec3(struct jsonw *j, const char *name, const char *key, const char *text,
                              int level)
{
    jsonw_object(j);
    jsonw_kstring(j, "name", name);
    jsonw_kobject(j, "configuration");
    if (text)
        jsonw_kstring(j, key, text);
    else
        jsonw_kint(j, key, level);
    if (!strcmp(name, "zstd"))
        jsonw_kbool(j, "checksum", 0);
    jsonw_end(j);
    jsonw_end(j);
}

static void zarr_write_version3(struct jsonw *j, const struct writer *w, const struct zarr_state *z)
{
    char dtype[16];
    store_dtype_name(w->type, dtype);
    jsonw_kint(j, "zarr_format", 3);
    jsonw_kstring(j, "node_type", "array");
    zarr_write_sizes(j, "shape", w->dims, w->shape);
    jsonw_kstring(j, "data_type", dtype);
    jsonw_kobject(j, "chunk_grid");
    jsonw_kstring(j, "name", "regular");
    jsonw_kobject(j, "configuration");
    zarr_write_sizes(j, "chunk_shape", w->dims, z->chunk);
    jsonw_end(j);
    jsonw_end(j);
    jsonw_kobject(j, "chunk_key_encoding");
    jsonw_kstring(j, "name", "default");
    jsonw_kobject(j, "configuration");
    jsonw_kstring(j, "separator", "/");
    jsonw_end(j);
    jsonw_end(j);
    jsonw_kint(j, "fill_value", 0);
    jsonw_karray(j, "codecs");
    zarr_write_codec3(j, "bytes", "endian", "little", 0);
    for (int i = 0; i < z->pipeline.count; i++)
        zarr_write_codec3(j, codec_name(z->pipeline.step[i].codec), "level", NULL,
                          z->pipeline.step[i].level);
    jsonw_end(j);
    zarr_write_names(j, "dimension_names", w);
    jsonw_kobject(j, "attributes");
    zarr_write_attributes(j, w);
    jsonw_end(j);
}

static enum err zarr_write_json(const struct writer *w, const char *name, int what)
{
    char path[4400];
    struct outfile f;
    struct jsonw j;
    snprintf(path, sizeof path, "%s/%s", w->made, name);
    TRY(outfile_open(&f, path));
    jsonw_init(&j, f.stream, 1);
    jsonw_object(&j);
    if (what == 0)
        zarr_write_version2(&j, w, w->state);
    else if (what == 1)
        zarr_write_version3(&j, w, w->state);
    else {
        zarr_write_names(&j, "_ARRAY_DIMENSIONS", w);
        zarr_write_attributes(&j, w);
    }
    jsonw_end(&j);
    return outfile_commit(&f);
}

static enum err zarr_sums_room(const struct writer *w, struct zarr_state *z)
{
    size_t chunks = 1;
    for (int i = 0; i < w->dims; i++)
        chunks *= (size_t)(z->grid[i] = (w->shape[i] - 1) / z->chunk[i] + 1);
    z->sums = w->encodes ? calloc(chunks, sizeof *z->sums) : NULL;
    FAIL_IF(w->encodes && !z->sums, ERR_MEMORY, "%s: no memory left to write", w->path);
    return ERR_OK;
}

static enum err zarr_begin(struct writer *w)
{
    const struct writer_options *o = w->options;
    struct stat st;
    FAIL_IF(!stat(w->path, &st), ERR_INPUT, "%s: exists already: remove it, or choose another name",
            w->path);
    FAIL_IF(w->dims == 0, ERR_UNSUPPORTED, "%s: the array is a single number", w->path);
    struct zarr_state *z = calloc(1, sizeof *z);
    FAIL_IF(!z, ERR_MEMORY, "%s: no memory left to write", w->path);
    w->state = z;
    z->version = o->zarr ? o->zarr : 3;
    TRY(chunks_choose(w, z->chunk));
    w->step = z->chunk[0];
    memcpy(w->chunk, z->chunk, sizeof w->chunk);
    w->encodes = !o->raw;
    TRY(zarr_sums_room(w, z));
    if (!o->raw) {
        const int zstd = codec_available(CODEC_ZSTD);
        z->pipeline.count = 1;
        z->pipeline.step[0] =
            o->has_codec ? o->codec
                         : (struct codec_step){.codec = zstd ? CODEC_ZSTD : CODEC_GZIP, .level = 3};
    }
    const int n = snprintf(w->made, sizeof w->made, "%s.%ld.tmp", w->path, (long)getpid());
    FAIL_IF(n >= 4200, ERR_USAGE, "%s: the path is too long", w->path);
    const enum err begun = outdir_begin(w->made);
    if (begun) {
        w->made[0] = 0; /* it is not this process's, and stays */
        return begun;
    }
    if (z->version == 3)
        return zarr_write_json(w, "zarr.json", 1);
    TRY(zarr_write_json(w, ".zattrs", 2));
    return zarr_write_json(w, ".zarray", 0);
}

static void chunk_name(const struct writer *w, const int64_t at[STORE_DIMS], char *out, size_t room)
{
    const struct zarr_state *z = w->state;
    snprintf(out, room, "%s/%s", w->made, z->version == 3 ? "c" : "");
    for (int i = 0; i < w->dims; i++)
        text_append(out, room, "%s%lld", z->version == 3 ? "/" : i ? "." : "", (long long)at[i]);
}

/* `made` is there, and what it lacks below is made. */
static enum err write_whole(const char *path, size_t made, const void *bytes, size_t n)
{
    char folder[4600];
    FILE *f = fopen(path, "wbe");
    for (const char *slash = path + made;
         !f && errno == ENOENT && (slash = strchr(slash + 1, '/'));) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        mkdir(folder, 0777);
        if (!strchr(slash + 1, '/'))
            f = fopen(path, "wbe");
        errno = f ? 0 : ENOENT;
    }
    FAIL_IF(!f, ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    const int good = fwrite(bytes, 1, n, f) == n;
    FAIL_IF(fclose(f) || !good, ERR_IO, "%s: writing failed: %s", path, strerror(errno));
    return ERR_OK;
}

static int64_t chunk_number(const struct writer *w, const int64_t at[STORE_DIMS])
{
    const struct zarr_state *z = w->state;
    int64_t n = 0;
    for (int i = 0; i < w->dims; i++)
        n = n * z->grid[i] + at[i];
    return n;
}

static enum err zarr_put_chunk(struct writer *w, const int64_t at[STORE_DIMS], const void *bytes,
                               size_t n)
{
    const struct zarr_state *z = w->state;
    char path[4500];
    chunk_name(w, at, path, sizeof path);
    if (z->sums)
        z->sums[chunk_number(w, at)] = slabs_sum(bytes, n);
    return write_whole(path, strlen(w->made), bytes, n);
}

static enum err zarr_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    const struct zarr_state *z = w->state;
    return chunks_write_slab(w, z->chunk, &z->pipeline, first, count, data, zarr_put_chunk);
}

static enum err zarr_put(struct writer *w, const struct engine_box *b, const void *data,
                         int threads)
{
    const struct zarr_state *z = w->state;
    return chunks_write(w, z->chunk, &z->pipeline, b, data, zarr_put_chunk, threads);
}

static enum err zarr_compare_chunk(const struct writer *w, const int64_t at[STORE_DIMS])
{
    const struct zarr_state *z = w->state;
    char path[4500], *bytes;
    size_t n;
    chunk_name(w, at, path, sizeof path);
    TRY(file_read_all(path, SIZE_MAX, &bytes, &n));
    const int same = slabs_sum(bytes, n) == z->sums[chunk_number(w, at)];
    free(bytes);
    FAIL_IF(!same, ERR_FAILED, "%s: what was written differs from what was encoded; it is removed",
            w->path);
    return ERR_OK;
}

static enum err zarr_stored(struct writer *w, const struct engine_box *b)
{
    const struct zarr_state *z = w->state;
    int64_t at[STORE_DIMS] = {0}, low[STORE_DIMS] = {0}, high[STORE_DIMS] = {0};
    for (int i = 0; i < w->dims; i++) {
        at[i] = low[i] = b->start[i] / z->chunk[i];
        high[i] = (b->start[i] + b->count[i] - 1) / z->chunk[i];
    }
    for (int d = 0; d >= 0;) {
        TRY(zarr_compare_chunk(w, at));
        for (d = w->dims - 1; d >= 0 && ++at[d] > high[d]; d--)
            at[d] = low[d];
    }
    return ERR_OK;
}

static enum err zarr_finish(struct writer *w, enum err e)
{
    (void)w;
    return e;
}

static void zarr_free(struct writer *w)
{
    struct zarr_state *z = w->state;
    if (z)
        free(z->sums);
    free(z);
    w->state = NULL;
}

const struct writer_format write_zarr = {.suffix = ".zarr",
                                         .compresses = 1,
                                         .keeps = KEEPS_SPACING | KEEPS_AXES | KEEPS_SCALE,
                                         .in_chunks = 1,
                                         .begin = zarr_begin,
                                         .slab = zarr_slab,
                                         .put = zarr_put,
                                         .stored = zarr_stored,
                                         .free = zarr_free,
                                         .finish = zarr_finish};
