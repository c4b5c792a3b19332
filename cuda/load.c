/* The program's side of the CUDA back end: finds the shared object that the driver serves, opens it
 * and lends it our services. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/cuda.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/mark/mark.h"

#ifndef TP_CUDA_OFF
#define TP_CUDA_OFF "its files are missing beside tomoprof"
#endif

const struct cuda_services cuda_services = {
    sizeof(struct backend_ops), err_set, mem_human, mark_push, mark_pop, log_line};

static enum err module_enter(void *object, const char *path, const struct backend_ops **ops)
{
    cuda_entry *entry;
    void *symbol = dlsym(object, CUDA_ENTRY_NAME);
    FAIL_IF(!symbol, ERR_UNSUPPORTED, "%s is not a CUDA back end of tomoprof", path);
    memcpy(&entry, &symbol, sizeof entry); /* C knows no cast from object to function */
    *ops = entry(&cuda_services);
    FAIL_IF(!*ops, ERR_UNSUPPORTED, "%s is of another version of tomoprof: build both again", path);
    return ERR_OK;
}

static int lies_here(struct cuda_build *b)
{
    char name[64];
    snprintf(name, sizeof name, "libtomoprof_cuda%d.so", b->major);
    return file_beside_program(b->path, sizeof b->path, name);
}

int cuda_driver_serves(void)
{
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    int (*get)(int *);
    memcpy(&get, &symbol, sizeof get);
    return symbol && !get(&version) ? version : 0;
}

const struct cuda_build *cuda_chosen(void)
{
    static struct cuda_build builds[] = {{13, 580, "libcufft.so.12", ""},
                                         {12, 525, "libcufft.so.11", ""}}, /* newest first */
        named = {.cufft = "libcufft.so.12"};
    const struct cuda_build *newest = NULL, *oldest = NULL;
    const char *path = getenv("TOMOPROF_CUDA");
    int serves = cuda_driver_serves();
    if (path && *path) {
        snprintf(named.path, sizeof named.path, "%s", path);
        return &named;
    }
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        if (!lies_here(&builds[i]))
            continue;
        if (serves / 1000 >= builds[i].major)
            return &builds[i];
        newest = newest ? newest : &builds[i];
        oldest = &builds[i];
    }
    return serves ? oldest : newest;
}

enum err cuda_load(const struct backend_ops **ops)
{
    const struct cuda_build *b = cuda_chosen();
    *ops = NULL;
    FAIL_IF(!b, ERR_UNSUPPORTED,
            "this build has no CUDA back end (%s): `./start.sh cuda` installs NVIDIA's toolkit and "
            "builds it",
            TP_CUDA_OFF);
    /* Never closed: the CUDA runtime inside registers handlers that run at exit. */
    void *object = dlopen(b->path, RTLD_NOW | RTLD_LOCAL);
    FAIL_IF(!object, ERR_UNSUPPORTED, "the CUDA back end cannot be opened: %s", dlerror());
    return module_enter(object, b->path, ops);
}
