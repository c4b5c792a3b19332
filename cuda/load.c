/* The program's side of the CUDA back end: finds the shared object, opens it and lends it our
 * services. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/cuda.h"
#include "host/base/memory.h"
#include "profiler/mark/mark.h"

#define OBJECT "libtomoprof_cuda.so"

const struct cuda_services cuda_services = {
    sizeof(struct backend_ops), err_set, mem_human, mark_push, mark_pop, log_line};

#ifdef TP_CUDA_BUILT

static enum err enter(void *object, const char *path, const struct backend_ops **ops)
{
    cuda_entry *entry;
    void *symbol = dlsym(object, CUDA_ENTRY_NAME);
    FAIL_IF(!symbol, ERR_UNSUPPORTED, "%s is no CUDA back end of tomoprof", path);
    memcpy(&entry, &symbol, sizeof entry); /* C knows no cast from object to function */
    *ops = entry(&cuda_services);
    FAIL_IF(!*ops, ERR_UNSUPPORTED, "%s is of another version of tomoprof: build both again", path);
    return ERR_OK;
}

/* The folder of this program, with a slash; "" where /proc does not say. */
static void program_folder(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    out[n > 0 ? n : 0] = 0;
    char *slash = strrchr(out, '/');
    if (slash)
        slash[1] = 0;
}

enum err cuda_load(const struct backend_ops **ops)
{
    static const char *const places[] = {"", "../", "../lib/tomoprof/"};
    char folder[3800], path[4096];
    const char *named = getenv("TOMOPROF_CUDA");
    program_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s", named && *named ? named : "");
    for (size_t i = 0; !(named && *named) && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s%s", folder, places[i], OBJECT);
        if (!access(path, F_OK))
            break;
    }
    /* Never closed: the CUDA runtime inside registers handlers that run at exit. */
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    FAIL_IF(!object, ERR_UNSUPPORTED, "the CUDA back end cannot be opened: %s", dlerror());
    return enter(object, path, ops);
}

#else

enum err cuda_load(const struct backend_ops **ops)
{
    *ops = NULL;
    return FAIL(ERR_UNSUPPORTED,
                "this build has no CUDA back end (%s): "
                "`./start.sh cuda` installs NVIDIA's toolkit and builds it",
                TP_CUDA_OFF);
}

#endif
