/* Opens libhdf5: by its name for the loader, then where the build found it. */
#include "host/store/store.h"

#ifdef TP_HDF5_LIBRARY
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define H5_LIBRARY_PLAIN
#include "host/store/format/h5_library.h"

struct h5_library h5_calls;

static const char *open_library(char *why, size_t bytes)
{
#define TEXT_OF(text) #text
#define TEXT(text)    TEXT_OF(text)
#define ROW(name)     {TEXT(name), &h5_calls.name},
    const struct {
        const char *name;
        void *to;
    } rows[] = {H5_LIBRARY(ROW)};
    /* For all to see: filters that libhdf5 loads (HDF5_PLUGIN_PATH) look for its functions. */
    void *object = dlopen(TP_HDF5_LIBRARY, RTLD_LAZY | RTLD_GLOBAL);
    const char *text = object ? NULL : dlerror();
    snprintf(why, bytes, "%s", text ? text : "");
    if (!object)
        object = dlopen(TP_HDF5_PATH, RTLD_LAZY | RTLD_GLOBAL);
    if (!object)
        return why;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* Not in `object`: a program that is linked to libhdf5, as tests are, has its variables. */
        void *symbol = dlsym(RTLD_DEFAULT, rows[i].name);
        if (!symbol) {
            snprintf(why, bytes, TP_HDF5_LIBRARY " has no %s", rows[i].name);
            return why;
        }
        memcpy(rows[i].to, &symbol, sizeof symbol);
    }
    return NULL;
}

const char *store_hdf5(void)
{
    static char missing[512];
    static const char *why;
    static int opened;
    if (!opened)
        why = open_library(missing, sizeof missing);
    opened = 1;
    return why;
}
#else
const char *store_hdf5(void)
{
    return NULL;
}
#endif
