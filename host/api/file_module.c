/* libtomoprof_files.so: opens arrays in files by their content, and reads boxes of them. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json/jsonw.h"
#include "base/memory.h"
#include "host/api/file_module.h"
#include "host/store/engine/engine.h"

struct tomoprof_file {
    struct store *s;
    struct store_array *a;
    struct store_dtype type; /* as it is read: native */
};

static _Thread_local const struct file_call *current; /* whose log may have made the next one */

/* Lets the thread work for call `k`, and returns the one that it worked for. */
static const struct file_call *call_change(const struct file_call *k)
{
    const struct file_call *before = current;
    current = k;
    log_redirect(k ? k->log : NULL, NULL);
    mem_limit(k ? k->memory : 0);
    return before;
}

static void file_close(tomoprof_file *f)
{
    store_close(f->s);
    free(f);
}

static enum err file_find(const char *path, const char *name, tomoprof_file **out)
{
    tomoprof_file *f = calloc(1, sizeof *f);
    FAIL_IF(!f, ERR_MEMORY, "no memory left to open a file");
    enum err e = store_open(path, &f->s);
    if (!e)
        e = store_find(f->s, name, &f->a);
    if (!e)
        e = store_index(f->s, f->a); /* now: a reader's child ends with the thread that opened */
    if (e) {
        file_close(f);
        return e;
    }
    f->type = f->a->dtype;
    f->type.swap = 0;
    *out = f;
    return ERR_OK;
}

static enum err file_open_array(const struct file_call *k, const char *path, const char *name,
                                tomoprof_file **out)
{
    log_never_print();
    const struct file_call *before = call_change(k);
    const enum err e = file_find(path, name, out);
    call_change(before);
    return e;
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

static enum err file_json(const tomoprof_file *f, char **text, size_t *bytes)
{
    FILE *out = open_memstream(text, bytes);
    FAIL_IF(!out, ERR_MEMORY, "no memory left for the facts of a file");
    file_write_json(f, out);
    FAIL_IF(fclose(out), ERR_MEMORY, "no memory left for the facts of a file");
    return ERR_OK;
}

static enum err file_take_box(const tomoprof_file *f, const int64_t *start, const int64_t *count,
                              size_t bytes, struct engine_box *box)
{
    const struct store_array *a = f->a;
    size_t wanted = f->type.bytes;
    *box = engine_all(a);
    for (int d = 0; d < a->dims; d++) {
        box->start[d] = start ? start[d] : 0;
        box->count[d] = count ? count[d] : a->shape[d];
        FAIL_IF(box->start[d] < 0 || box->count[d] < 1 || box->count[d] > a->shape[d] ||
                    box->start[d] > a->shape[d] - box->count[d],
                ERR_USAGE,
                "start=%lld and count=%lld along dimension %d; expected a part of 0 to %lld",
                (long long)box->start[d], (long long)box->count[d], d, (long long)a->shape[d]);
        wanted *= (size_t)box->count[d]; /* a part of what the store has found to fit */
    }
    FAIL_IF(bytes != wanted, ERR_USAGE, "bytes=%zu; the box has %zu", bytes, wanted);
    return ERR_OK;
}

static enum err file_read_box(const struct file_call *k, tomoprof_file *f,
                              const struct engine_box *box, const int64_t *strides, void *to)
{
    struct engine_plan *p;
    const struct engine_options o = {.threads = k->threads, .stop = k->stop};
    TRY(engine_plan(f->s, f->a, box, &o, &p));
    const enum err e = engine_run(p, f->type, to, strides, NULL, NULL);
    engine_plan_free(p);
    FAIL_IF(!e && *k->stop, ERR_INTERRUPTED, "cancelled");
    return e;
}

static enum err file_read(const struct file_call *k, tomoprof_file *f, const int64_t *start,
                          const int64_t *count, const int64_t *strides, void *to, size_t bytes)
{
    struct engine_box box;
    TRY(file_take_box(f, start, count, bytes, &box));
    const struct file_call *before = call_change(k);
    const enum err e = file_read_box(k, f, &box, strides, to);
    call_change(before);
    return e;
}

/* Tells `base`, which this module has a copy of, where the module for DICOM lies: beside it. */
static void module_find(void)
{
    static char path[PATH_MAX];
    Dl_info here;
    char *slash;
    if (!dladdr(path, &here) || !realpath(here.dli_fname, path) || !(slash = strrchr(path, '/')))
        return;
    slash[1] = 0;
    file_library_folder(path);
}

__attribute__((visibility("default"))) const struct file_module *tomoprof_files(void)
{
    static const struct file_module module = {sizeof module, file_open_array, file_close,
                                              file_json,     file_read,       err_text};
    static int found;
    if (!__atomic_exchange_n(&found, 1, __ATOMIC_ACQ_REL))
        module_find();
    return &module;
}
