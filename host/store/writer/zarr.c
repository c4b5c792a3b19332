/* Arrays as Zarr stores of one array, version 2 or 3; chunks are compressed by all threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/jsonw.h"
#include "host/store/engine/parts.h"
#include "host/store/writer/writer.h"

#define CHUNK_BYTES ((int64_t)1 << 20)

struct zarr_state {
    int version;
    int64_t chunk[STORE_DIMS];
    struct codec_pipeline pipeline;
};

/* Cubes of about 1 MiB. */
static void choose_chunk(const struct writer *w, int64_t chunk[STORE_DIMS])
{
    int64_t bytes = w->type.bytes;
    for (int i = 0; i < w->dims; i++)
        bytes *= chunk[i] = w->shape[i];
    while (bytes > CHUNK_BYTES) {
        int largest = 0;
        for (int i = 1; i < w->dims; i++)
            if (chunk[i] > chunk[largest])
                largest = i;
        bytes /= chunk[largest];
        chunk[largest] = (chunk[largest] + 1) / 2;
        bytes *= chunk[largest];
    }
}

static enum err set_chunk(const struct writer *w, struct zarr_state *z)
{
    const struct writer_options *o = w->options;
    if (!o->chunk_dims) {
        choose_chunk(w, z->chunk);
        return ERR_OK;
    }
    FAIL_IF(o->chunk_dims != w->dims, ERR_USAGE,
            "--chunk has %d sizes; the array has %d dimensions", o->chunk_dims, w->dims);
    for (int i = 0; i < w->dims; i++)
        z->chunk[i] = o->chunk[i] < w->shape[i] ? o->chunk[i] : w->shape[i];
    return ERR_OK;
}

static void say_sizes(struct jsonw *j, const char *key, int n, const int64_t *v)
{
    jsonw_key(j, key);
    jsonw_array(j);
    for (int i = 0; i < n; i++)
        jsonw_int(j, v[i]);
    jsonw_end(j);
}

static void say_names(struct jsonw *j, const char *key, const struct writer *w)
{
    jsonw_key(j, key);
    jsonw_array(j);
    for (int i = 0; i < w->dims; i++) {
        const char *axis = w->source->axis[w->from[i]];
        char name[16];
        snprintf(name, sizeof name, "dim_%d", i);
        jsonw_string(j, axis ? axis : name);
    }
    jsonw_end(j);
}

/* Spacing and scale, by names of our own: neither version has keys for them. */
static void say_attributes(struct jsonw *j, const struct writer *w)
{
    const struct store_array *a = w->source;
    int known = 0;
    for (int i = 0; i < w->dims; i++)
        known |= a->spacing[w->from[i]] > 0;
    if (known) {
        jsonw_key(j, "spacing");
        jsonw_array(j);
        for (int i = 0; i < w->dims; i++)
            jsonw_number(j, a->spacing[w->from[i]]);
        jsonw_end(j);
        jsonw_key(j, "units");
        jsonw_array(j);
        for (int i = 0; i < w->dims; i++)
            jsonw_string(j, a->unit[w->from[i]]);
        jsonw_end(j);
    }
    if (a->slope != 1 || a->intercept != 0) {
        jsonw_knumber(j, "scale_factor", a->slope);
        jsonw_knumber(j, "add_offset", a->intercept);
    }
}

static void say_version2(struct jsonw *j, const struct writer *w, const struct zarr_state *z)
{
    const struct codec_step *s = &z->pipeline.step[0];
    char dtype[8];
    writer_dtype(w->type, dtype);
    jsonw_kint(j, "zarr_format", 2);
    say_sizes(j, "shape", w->dims, w->shape);
    say_sizes(j, "chunks", w->dims, z->chunk);
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

static void say_codec3(struct jsonw *j, const char *name, const char *key, const char *text,
                       int level)
{
    jsonw_object(j);
    jsonw_kstring(j, "name", name);
    jsonw_key(j, "configuration");
    jsonw_object(j);
    if (text)
        jsonw_kstring(j, key, text);
    else
        jsonw_kint(j, key, level);
    if (!strcmp(name, "zstd"))
        jsonw_kbool(j, "checksum", 0);
    jsonw_end(j);
    jsonw_end(j);
}

static void say_version3(struct jsonw *j, const struct writer *w, const struct zarr_state *z)
{
    char dtype[16];
    store_dtype_name(w->type, dtype);
    jsonw_kint(j, "zarr_format", 3);
    jsonw_kstring(j, "node_type", "array");
    say_sizes(j, "shape", w->dims, w->shape);
    jsonw_kstring(j, "data_type", dtype);
    jsonw_key(j, "chunk_grid");
    jsonw_object(j);
    jsonw_kstring(j, "name", "regular");
    jsonw_key(j, "configuration");
    jsonw_object(j);
    say_sizes(j, "chunk_shape", w->dims, z->chunk);
    jsonw_end(j);
    jsonw_end(j);
    jsonw_key(j, "chunk_key_encoding");
    jsonw_object(j);
    jsonw_kstring(j, "name", "default");
    jsonw_key(j, "configuration");
    jsonw_object(j);
    jsonw_kstring(j, "separator", "/");
    jsonw_end(j);
    jsonw_end(j);
    jsonw_kint(j, "fill_value", 0);
    jsonw_key(j, "codecs");
    jsonw_array(j);
    say_codec3(j, "bytes", "endian", "little", 0);
    for (int i = 0; i < z->pipeline.count; i++)
        say_codec3(j, codec_name(z->pipeline.step[i].codec), "level", NULL,
                   z->pipeline.step[i].level);
    jsonw_end(j);
    say_names(j, "dimension_names", w);
    jsonw_key(j, "attributes");
    jsonw_object(j);
    say_attributes(j, w);
    jsonw_end(j);
}

static enum err write_json(const struct writer *w, const char *name, int what)
{
    char path[4400];
    struct outfile f;
    struct jsonw j;
    snprintf(path, sizeof path, "%s/%s", w->made, name);
    TRY(outfile_open(&f, path));
    jsonw_init(&j, f.stream, 1);
    jsonw_object(&j);
    if (what == 0)
        say_version2(&j, w, w->state);
    else if (what == 1)
        say_version3(&j, w, w->state);
    else {
        say_names(&j, "_ARRAY_DIMENSIONS", w);
        say_attributes(&j, w);
    }
    jsonw_end(&j);
    return outfile_commit(&f);
}

static enum err begin(struct writer *w)
{
    const struct writer_options *o = w->options;
    const char *library;
    struct stat st;
    FAIL_IF(!stat(w->path, &st), ERR_INPUT, "%s: exists already: remove it, or choose another name",
            w->path);
    FAIL_IF(w->dims == 0, ERR_UNSUPPORTED, "%s: the array is a single number", w->path);
    struct zarr_state *z = calloc(1, sizeof *z);
    FAIL_IF(!z, ERR_MEMORY, "%s: no memory left to write", w->path);
    w->state = z;
    z->version = o->zarr ? o->zarr : 3;
    TRY(set_chunk(w, z));
    w->step = z->chunk[0];
    if (!o->raw) {
        const int zstd = codec_available(CODEC_ZSTD, &library);
        z->pipeline.count = 1;
        z->pipeline.step[0] =
            o->has_codec ? o->codec
                         : (struct codec_step){.codec = zstd ? CODEC_ZSTD : CODEC_GZIP, .level = 3};
    }
    const int n = snprintf(w->made, sizeof w->made, "%s.%ld.tmp", w->path, (long)getpid());
    FAIL_IF(n >= 4200, ERR_USAGE, "%s: the path is too long", w->path);
    FAIL_IF(mkdir(w->made, 0777), ERR_IO, "%s: cannot be made: %s", w->made, strerror(errno));
    if (z->version == 3)
        return write_json(w, "zarr.json", 1);
    TRY(write_json(w, ".zattrs", 2));
    return write_json(w, ".zarray", 0);
}

static void chunk_name(const struct writer *w, const int64_t at[STORE_DIMS], char *out, size_t room)
{
    const struct zarr_state *z = w->state;
    int n = snprintf(out, room, "%s/%s", w->made, z->version == 3 ? "c" : "");
    for (int i = 0; i < w->dims; i++)
        n += snprintf(out + n, room - (size_t)n, "%s%lld",
                      z->version == 3 ? "/"
                      : i             ? "."
                                      : "",
                      (long long)at[i]);
}

static enum err write_whole(const char *path, const void *bytes, size_t n)
{
    char folder[4600];
    FILE *f = fopen(path, "wbe");
    for (const char *slash = path; !f && errno == ENOENT && (slash = strchr(slash + 1, '/'));) {
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

/* One chunk of the slab; chunks at the edges are filled up with 0. */
static enum err write_chunk(struct writer *w, const int64_t at[STORE_DIMS], int64_t count,
                            const unsigned char *data)
{
    const struct zarr_state *z = w->state;
    struct place p = {.dims = w->dims, .bytes = w->type.bytes};
    int64_t bytes = w->type.bytes, slab = w->type.bytes;
    char path[4500];
    for (int i = w->dims - 1; i >= 0; i--) {
        const int64_t there = i ? w->shape[i] : count, first = i ? at[i] * z->chunk[i] : 0;
        p.from[i] = slab;
        p.to[i] = bytes;
        p.count[i] = there - first < z->chunk[i] ? there - first : z->chunk[i];
        data += first * slab;
        slab *= there;
        bytes *= z->chunk[i];
    }
    unsigned char *chunk = calloc(1, (size_t)bytes);
    FAIL_IF(!chunk, ERR_MEMORY, "%s: no memory left to write", w->path);
    place_box(p, data, chunk);
    void *packed = chunk;
    size_t n = (size_t)bytes;
    enum err e = z->pipeline.count ? codec_encode(&z->pipeline, chunk, n, &packed, &n) : ERR_OK;
    chunk_name(w, at, path, sizeof path);
    if (!e)
        e = write_whole(path, packed, n);
    if (packed != chunk)
        free(packed);
    free(chunk);
    return e;
}

/* Errors of threads are kept for the caller. */
static enum err slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    const struct zarr_state *z = w->state;
    int64_t grid[STORE_DIMS], total = 1;
    enum err failed = ERR_OK;
    char text[1000] = "";
    for (int i = 1; i < w->dims; i++)
        total *= grid[i] = (w->shape[i] - 1) / z->chunk[i] + 1;
#pragma omp parallel for schedule(dynamic)
    for (int64_t n = 0; n < total; n++) {
        int64_t at[STORE_DIMS] = {first / z->chunk[0]}, left = n;
        for (int i = w->dims - 1; i > 0; i--) {
            at[i] = left % grid[i];
            left /= grid[i];
        }
        enum err e = write_chunk(w, at, count, data);
        if (e) {
#pragma omp critical
            if (!failed) {
                failed = e;
                snprintf(text, sizeof text, "%s", err_text());
            }
        }
    }
    return failed ? FAIL(failed, "%s", text) : ERR_OK;
}

static enum err finish(struct writer *w, enum err e)
{
    free(w->state);
    w->state = NULL;
    return e;
}

const struct writer_format write_zarr = {".zarr", 0, begin, slab, finish};
