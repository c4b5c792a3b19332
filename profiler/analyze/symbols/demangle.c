/* Readable names of C++ functions by the C++ library of the machine, where it has one. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/symbols/demangle.h"

/* The C++ ABI's own function, found at run time: a C program need not link the C++ library. */
typedef char *demangler(const char *mangled, char *buffer, size_t *length, int *status);
static demangler *cxa_demangle;

static void find(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&cxa_demangle, &symbol, sizeof symbol);
}

/* Rust ends each name with a hash of the crate: "app::smooth::hf6f149578666a4ce". */
static void cut_hash(char *name)
{
    size_t n = strlen(name), hash = 19;
    if (n > hash && !strncmp(name + n - hash, "::h", 3) &&
        strspn(name + n - hash + 3, "0123456789abcdef") == hash - 3)
        name[n - hash] = 0;
}

char *demangle(const char *mangled)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    int status = -1;
    char *readable = NULL;
    const char *part = strstr(mangled, ".llvm."); /* of a function that LLVM moved */
    char *whole = part ? strndup(mangled, (size_t)(part - mangled)) : strdup(mangled);
    if (cxa_demangle && whole && strncmp(whole, "_Z", 2) == 0)
        readable = cxa_demangle(whole, NULL, NULL, &status);
    if (!readable || status != 0)
        return whole;
    free(whole);
    cut_hash(readable);
    return readable;
}
