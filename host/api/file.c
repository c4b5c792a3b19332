/* Arrays in files: opened by their content, read in boxes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "host/api/call.h"
#include "host/store/engine/engine.h"

struct tomoprof_file {
    struct store *s;
    struct store_array *a;
    struct store_dtype type; /* as it is read: native */
};

struct file_work {
    tomoprof_context *c;
    const char *path, *name;
    tomoprof_file **out;
    tomoprof_file *f;
    char *json;
    size_t room, *length;
    const int64_t *start, *count, *strides;
    void *to;
    size_t bytes;
};

static enum err file_argument(const void *p, const char *name)
{
    FAIL_IF(!p, ERR_USAGE, "%s is NULL; pass an address", name);
    return ERR_OK;
}

static enum err file_work_open(void *state)
{
    const struct file_work *w = state;
    TRY(file_argument(w->out, "out"));
    *w->out = NULL;
    TRY(file_argument(w->path, "path"));
    tomoprof_file *f = calloc(1, sizeof *f);
    FAIL_IF(!f, ERR_MEMORY, "no memory left to open a file");
    enum err e = store_open(w->path, &f->s);
    if (!e)
        e = store_find(f->s, w->name, &f->a);
    if (!e)
        e = store_index(f->s, f->a); /* now: a reader's child ends with the thread that opened */
    if (e) {
        tomoprof_file_free(f);
        return e;
    }
    f->type = f->a->dtype;
    f->type.swap = 0;
    *w->out = f;
    return ERR_OK;
}

static void file_write_sizes(struct jsonw *w, const char *key, const int64_t *n, int dims)
{
    jsonw_karray(w, key);
    for (int d = 0; d < dims; d++)
        jsonw_int(w, n[d]);
    jsonw_end(w);
}

static void file_write_json(const tomoprof_file *f, FILE *out)
{
    const struct store_array *a = f->a;
    struct jsonw w;
    char type[24];
    snprintf(type, sizeof type, "%c%d", a->dtype.kind, a->dtype.bytes);
    jsonw_init(&w, out, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "format", f->s->format);
    jsonw_kstring(&w, "array", a->name);
    jsonw_karray(&w, "arrays");
    for (int32_t i = 0; i < f->s->arrays_count; i++)
        jsonw_string(&w, f->s->arrays[i]->name);
    jsonw_end(&w);
    jsonw_kstring(&w, "dtype", type);
    file_write_sizes(&w, "shape", a->shape, a->dims);
    file_write_sizes(&w, "chunks", a->tiles ? a->shape : a->chunk, a->dims);
    jsonw_karray(&w, "order");
    for (int d = 0; d < a->dims; d++)
        jsonw_int(&w, a->order[d]);
    jsonw_end(&w);
    jsonw_knumber(&w, "slope", a->slope);
    jsonw_knumber(&w, "intercept", a->intercept);
    jsonw_end(&w);
}

static enum err file_work_json(void *state)
{
    const struct file_work *w = state;
    char *text = NULL;
    size_t bytes = 0;
    TRY(file_argument(w->f, "f"));
    TRY(file_argument(w->length, "bytes"));
    if (w->room)
        TRY(file_argument(w->json, "json"));
    FILE *out = open_memstream(&text, &bytes);
    FAIL_IF(!out, ERR_MEMORY, "no memory left for the facts of a file");
    file_write_json(w->f, out);
    const int failed = fclose(out);
    if (!failed && w->room) {
        const size_t part = bytes < w->room ? bytes : w->room - 1;
        memcpy(w->json, text, part);
        w->json[part] = 0;
    }
    *w->length = bytes;
    free(text);
    FAIL_IF(failed, ERR_MEMORY, "no memory left for the facts of a file");
    return ERR_OK;
}

static enum err file_take_box(const struct file_work *w, struct engine_box *box)
{
    const struct store_array *a = w->f->a;
    size_t wanted = w->f->type.bytes;
    *box = engine_all(a);
    for (int d = 0; d < a->dims; d++) {
        box->start[d] = w->start ? w->start[d] : 0;
        box->count[d] = w->count ? w->count[d] : a->shape[d];
        FAIL_IF(box->start[d] < 0 || box->count[d] < 1 || box->count[d] > a->shape[d] ||
                    box->start[d] > a->shape[d] - box->count[d],
                ERR_USAGE,
                "start=%lld and count=%lld along dimension %d; expected a part of 0 to %lld",
                (long long)box->start[d], (long long)box->count[d], d, (long long)a->shape[d]);
        wanted *= (size_t)box->count[d]; /* a part of what the store has found to fit */
    }
    FAIL_IF(w->bytes != wanted, ERR_USAGE, "bytes=%zu; the box has %zu", w->bytes, wanted);
    return ERR_OK;
}

static enum err file_work_read(void *state)
{
    const struct file_work *w = state;
    struct engine_box box;
    struct engine_plan *p;
    TRY(file_argument(w->f, "f"));
    TRY(file_argument(w->to, "to"));
    TRY(file_take_box(w, &box));
    const struct engine_options o = {.threads = w->c->threads, .stop = &w->c->stop};
    TRY(engine_plan(w->f->s, w->f->a, &box, &o, &p));
    const enum err e = engine_run(p, w->f->type, w->to, w->strides, NULL, NULL);
    engine_plan_free(p);
    FAIL_IF(!e && w->c->stop, ERR_INTERRUPTED, "cancelled");
    return e;
}

/* ---- tomoprof.h ---- */

tomoprof_status tomoprof_file_open(tomoprof_context *c, const char *path, const char *array,
                                   tomoprof_file **out)
{
    return call_simple(c, file_work_open,
                       &(struct file_work){.path = path, .name = array, .out = out});
}

void tomoprof_file_free(tomoprof_file *f)
{
    if (!f)
        return;
    store_close(f->s);
    free(f);
}

tomoprof_status tomoprof_file_json(tomoprof_context *c, const tomoprof_file *f, char *json,
                                   size_t room, size_t *bytes)
{
    return call_simple(
        c, file_work_json,
        &(struct file_work){.f = (tomoprof_file *)f, .json = json, .room = room, .length = bytes});
}

tomoprof_status tomoprof_file_read(tomoprof_context *c, tomoprof_file *f, const int64_t *start,
                                   const int64_t *count, const int64_t *strides, void *to,
                                   size_t bytes)
{
    return call_simple(c, file_work_read,
                       &(struct file_work){.c = c,
                                           .f = f,
                                           .start = start,
                                           .count = count,
                                           .strides = strides,
                                           .to = to,
                                           .bytes = bytes});
}
