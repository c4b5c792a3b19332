/* Opens the module that reads DICOM. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "host/store/dicom/dicom.h"

typedef const struct dicom_library *dicom_entry(void);

static const struct dicom_library *dicom_find(char *why, size_t room)
{
    char path[4096];
    dicom_entry *entry;
    if (!file_beside_program(path, sizeof path, DICOM_MODULE)) {
        snprintf(why, room,
                 "this build has no GDCM to read it: install libgdcm-dev (Debian), gdcm-devel "
                 "(Fedora) or gdcm (Arch), and build again");
        return NULL;
    }
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        snprintf(why, room, "GDCM cannot be opened: %s", dlerror());
        return NULL;
    }
    void *symbol = dlsym(object, DICOM_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
    if (!symbol || entry()->bytes != sizeof(struct dicom_library)) {
        snprintf(why, room, "%s is of another version of tomoprof: build both again", path);
        return NULL;
    }
    return entry();
}

const struct dicom_library *dicom_open(const char **why)
{
    static const struct dicom_library *library;
    static char missing[4600];
    static int opened;
    if (!opened)
        library = dicom_find(missing, sizeof missing);
    opened = 1;
    *why = missing;
    return library;
}
