/* Contexts: opening a back end, callbacks, the sentence of the latest failure. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cuda/cuda.h"
#include "host/api/call.h"
#include "host/backend/registry.h"
#include "host/cpu/cpu.h"

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER; /* the registry has none */

/* The back end for GPUs lies beside the library. */
static void library_find(void)
{
    static char path[PATH_MAX];
    Dl_info here;
    char *slash;
    if (!dladdr(&registry_lock, &here) || !realpath(here.dli_fname, path) ||
        !(slash = strrchr(path, '/')) || !strstr(slash, ".so"))
        return;
    slash[1] = 0;
    file_library_folder(path);
}

static void library_begin(void)
{
    library_find();
    log_never_print();
    backend_register(&cpu_backend);
    backend_register_loader("cuda", cuda_load);
}

const char *tomoprof_version(void)
{
    return TOMOPROF_VERSION;
}

int tomoprof_abi(void)
{
    return TOMOPROF_ABI;
}

static enum err context_open(const tomoprof_context_options *given, tomoprof_context *c)
{
    tomoprof_context_options o = TOMOPROF_CONTEXT_OPTIONS;
    if (given)
        TRY(sized_copy("options", given, given->size, &o, sizeof o));
    const struct backend_options options = {.threads = o.threads, .device_memory = o.device_memory};
    c->threads = o.threads;
    c->memory = o.memory;
    c->progress = o.progress;
    c->log = o.log;
    c->progress_user = c->log_user = o.user;
    c->process = getpid();
    pthread_mutex_init(&c->watch.lock, NULL);
    pthread_mutex_lock(&registry_lock);
    enum err e = backend_open(o.backend ? o.backend : "auto", &options, &c->be);
    pthread_mutex_unlock(&registry_lock);
    if (e)
        return e;
    c->be->stop = &c->stop;
    c->be->look = watch_poll;
    c->be->looker = c;
    return ERR_OK;
}

tomoprof_status tomoprof_context_create(const tomoprof_context_options *options,
                                        tomoprof_context **out)
{
    fail_without_context("");
    pthread_once(&library_once, library_begin);
    tomoprof_context *c = out ? calloc(1, sizeof *c) : NULL;
    enum err e = !out ? FAIL(ERR_USAGE, "out is NULL; pass the address of a tomoprof_context *")
                 : !c ? FAIL(ERR_MEMORY, "no memory left for a context")
                      : context_open(options, c);
    if (out)
        *out = e ? NULL : c;
    if (e) {
        fail_without_context(err_text());
        free(c);
    }
    return status_of(e, NULL);
}

void tomoprof_context_free(tomoprof_context *c)
{
    if (c && c->process == getpid()) /* a device is its parent's */
        backend_close(c->be);
    free(c);
}

const char *tomoprof_backend(const tomoprof_context *c)
{
    return c ? c->be->ops->name : "";
}

const char *tomoprof_device(const tomoprof_context *c)
{
    return c ? c->be->device : "";
}

void tomoprof_set_progress(tomoprof_context *c, tomoprof_progress *callback, void *user)
{
    if (!c)
        return;
    c->progress = callback;
    c->progress_user = user;
}

void tomoprof_set_log(tomoprof_context *c, tomoprof_log *callback, void *user)
{
    if (!c)
        return;
    c->log = callback;
    c->log_user = user;
}

void tomoprof_set_watch(tomoprof_context *c, tomoprof_watch *watch, void *user, int milliseconds,
                        int steps)
{
    if (!c)
        return;
    c->watch.tell = watch;
    c->watch.user = user;
    c->watch.steps = watch && steps;
    c->watch.interval = milliseconds > 0 ? milliseconds * INT64_C(1000000) : 0;
}

void tomoprof_cancel(tomoprof_context *c)
{
    if (c)
        c->stop = 1;
}
