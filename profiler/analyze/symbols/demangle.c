/* Readable names of C++ functions by the C++ library of the machine, where it has one. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
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

char *demangle(const char *mangled)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    int status = -1;
    char *readable = NULL;
    if (cxa_demangle && strncmp(mangled, "_Z", 2) == 0)
        readable = cxa_demangle(mangled, NULL, NULL, &status);
    return readable && status == 0 ? readable : strdup(mangled);
}
