/* Slabs cut into chunks and encoded, by all threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/engine/parts.h"
#include "host/store/writer/chunks.h"

#define CHUNK_BYTES ((int64_t)1 << 20)

static void chunks_choose_shape(const struct writer *w, int64_t chunk[STORE_DIMS])
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

enum err chunks_choose(const struct writer *w, int64_t chunk[STORE_DIMS])
{
    const struct writer_options *o = w->options;
    if (!o->chunk_dims) {
        chunks_choose_shape(w, chunk);
        return ERR_OK;
    }
    FAIL_IF(o->chunk_dims != w->dims, ERR_USAGE,
            "`chunk` has %d sizes; the array has %d dimensions", o->chunk_dims, w->dims);
    for (int i = 0; i < w->dims; i++)
        chunk[i] = o->chunk[i] < w->shape[i] ? o->chunk[i] : w->shape[i];
    return ERR_OK;
}

struct chunks_job {
    struct writer *w;
    const int64_t *chunk;
    const struct codec_pipeline *pipeline;
    const struct engine_box *box;
    const unsigned char *data;
    chunks_put put;
};

static enum err chunks_write_one(const struct chunks_job *j, const int64_t at[STORE_DIMS])
{
    const struct writer *w = j->w;
    const unsigned char *data = j->data;
    struct place p = {.dims = w->dims, .bytes = w->type.bytes};
    int64_t bytes = w->type.bytes, slab = w->type.bytes, box = w->type.bytes;
    for (int i = w->dims - 1; i >= 0; i--) {
        const int64_t there = j->box->count[i], first = at[i] * j->chunk[i] - j->box->start[i];
        p.from[i] = slab;
        p.to[i] = bytes;
        p.count[i] = there - first < j->chunk[i] ? there - first : j->chunk[i];
        data += first * slab;
        slab *= there;
        bytes *= j->chunk[i];
        box *= p.count[i];
    }
    const int whole = box == bytes; /* else the rest is the fill value */
    unsigned char *chunk = whole ? malloc((size_t)bytes) : calloc(1, (size_t)bytes);
    FAIL_IF(!chunk, ERR_MEMORY, "%s: no memory left to write", w->path);
    place_box(p, data, chunk);
    void *packed = chunk;
    size_t n = (size_t)bytes;
    enum err e = j->pipeline->count ? codec_encode(j->pipeline, chunk, n, &packed, &n) : ERR_OK;
    if (!e)
        e = j->put(j->w, at, packed, n);
    if (packed != chunk)
        free(packed);
    free(chunk);
    return e;
}

enum err chunks_write(struct writer *w, const int64_t chunk[STORE_DIMS],
                      const struct codec_pipeline *pipeline, const struct engine_box *b,
                      const void *data, chunks_put put, int threads)
{
    const struct chunks_job job = {w, chunk, pipeline, b, data, put};
    int64_t grid[STORE_DIMS], total = 1;
    enum err failed = ERR_OK;
    char text[1000] = "";
    for (int i = 0; i < w->dims; i++)
        total *= grid[i] = (b->count[i] - 1) / chunk[i] + 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int64_t n = 0; n < total; n++) {
        int64_t at[STORE_DIMS] = {0}, left = n;
        for (int i = w->dims - 1; i >= 0; i--) {
            at[i] = b->start[i] / chunk[i] + left % grid[i];
            left /= grid[i];
        }
        enum err e = chunks_write_one(&job, at);
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

enum err chunks_write_slab(struct writer *w, const int64_t chunk[STORE_DIMS],
                           const struct codec_pipeline *pipeline, int64_t first, int64_t count,
                           const void *data, chunks_put put)
{
    struct engine_box b = {{0}, {0}};
    memcpy(b.count, w->shape, sizeof b.count);
    b.start[0] = first;
    b.count[0] = count;
    return chunks_write(w, chunk, pipeline, &b, data, put, engine_processors());
}
