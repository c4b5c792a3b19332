/* Arrays in files: opens the module that reads them, and checks the caller's arguments. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "host/api/call.h"
#include "host/api/file_module.h"

#define MODULE "libtomoprof_files.so"

static const struct file_module *module; /* NULL: no file was opened yet */

/* Two threads may do it at once: both find the same. A lock would be held for ever in a child of
 * fork(). */
static enum err module_open(void)
{
    char path[4096];
    file_entry *entry;
    if (__atomic_load_n(&module, __ATOMIC_ACQUIRE))
        return ERR_OK;
    FAIL_IF(!file_beside_program(path, sizeof path, MODULE), ERR_UNSUPPORTED,
            MODULE " is missing beside libtomoprof, also in tomoprof/: build or install both of "
                   "one version");
    /* Never closed: the libraries of codecs may have threads and handlers at exit. */
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    FAIL_IF(!object, ERR_UNSUPPORTED, "what reads files cannot be opened: %s", dlerror());
    void *symbol = dlsym(object, FILE_ENTRY_NAME);
    memcpy(&entry, &symbol, sizeof entry); /* C knows no cast from object to function */
    FAIL_IF(!symbol || entry()->bytes != sizeof *module, ERR_UNSUPPORTED,
            "%s is of another version of tomoprof: build both again", path);
    __atomic_store_n(&module, entry(), __ATOMIC_RELEASE);
    return ERR_OK;
}

/* Passes a line of the module on to the context that this thread works for. */
static void module_log(void *context, enum log_level level, const char *sentence)
{
    (void)context;
    log_line(level, "%s", sentence);
}

static struct file_call module_call(tomoprof_context *c)
{
    return (struct file_call){module_log, c->memory, c->threads, &c->stop};
}

/* Keeps the module's sentence as the thread's. */
static enum err module_status(enum err e)
{
    return e ? FAIL(e, "%s", module->sentence()) : ERR_OK;
}

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
    TRY(module_open());
    const struct file_call k = module_call(w->c);
    return module_status(module->open(&k, w->path, w->name, w->out));
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
    const enum err e = module_status(module->json(w->f, &text, &bytes));
    if (!e && w->room) {
        const size_t part = bytes < w->room ? bytes : w->room - 1;
        memcpy(w->json, text, part);
        w->json[part] = 0;
    }
    if (!e)
        *w->length = bytes;
    free(text);
    return e;
}

static enum err file_work_read(void *state)
{
    const struct file_work *w = state;
    TRY(file_argument(w->f, "f"));
    TRY(file_argument(w->to, "to"));
    const struct file_call k = module_call(w->c);
    return module_status(module->read(&k, w->f, w->start, w->count, w->strides, w->to, w->bytes));
}

/* ---- tomoprof.h ---- */

tomoprof_status tomoprof_file_open(tomoprof_context *c, const char *path, const char *array,
                                   tomoprof_file **out)
{
    return call_simple(c, file_work_open,
                       &(struct file_work){.c = c, .path = path, .name = array, .out = out});
}

void tomoprof_file_free(tomoprof_file *f)
{
    if (f)
        module->close(f);
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
