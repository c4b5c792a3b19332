/* Readable names of C++ functions by the C++ library of the machine, where it has one, and of Rust's. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/symbols/demangle.h"

/* The C++ ABI's own function, found at run time: a C program need not link the C++ library. */
typedef char *demangler(const char *mangled, char *buffer, size_t *length, int *status);
static demangler *cxa_demangle;

static void demangler_find(void)
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

/* Returns the end of a clone's name in the source: of a function that LLVM moved, or that GCC split
 * or made again for some arguments. */
static size_t without_clone(const char *name)
{
    static const char *const parts[] = {".llvm.", ".constprop.", ".isra.",
                                        ".part.", ".lto_priv.",  ".cold."};
    size_t n = strlen(name), first = n;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(name + (n > 0), parts[i]);
        if (at && (size_t)(at - name) < first)
            first = (size_t)(at - name);
    }
    if (first == n && text_has_suffix(name, ".cold"))
        first = n - 5;
    return first;
}

char *demangle(const char *mangled)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, demangler_find);
    int status = -1;
    char *readable = NULL;
    char *whole = strndup(mangled, without_clone(mangled));
    if (cxa_demangle && whole && strncmp(whole, "_Z", 2) == 0)
        readable = cxa_demangle(whole, NULL, NULL, &status);
    if (whole && !readable)
        readable = demangle_rust(whole), status = 0;
    if (!readable || status != 0)
        return whole;
    free(whole);
    cut_hash(readable);
    return readable;
}
