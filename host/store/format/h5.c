/* Calls of libhdf5 with errors in sentences. */
#ifdef TP_HDF5
#include <stdio.h>
#include <string.h>

#include "host/base/file.h"
#include "host/store/format/h5.h"
#include "host/store/store.h"

enum err h5_start(const char *path)
{
    const char *why = store_hdf5();
    FAIL_IF(why, ERR_UNSUPPORTED,
            "%s: libhdf5 cannot be opened: %s. Install the version of the build, or build again",
            path, why);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return ERR_OK;
}

enum err h5_open(const char *path, hid_t *file)
{
    FILE *f;
    *file = -1;
    TRY(h5_start(path));
    TRY(file_open(path, &f)); /* for the system's reason, which HDF5 does not tell */
    fclose(f);
    *file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    FAIL_IF(*file < 0, ERR_INPUT, "%s: is not an HDF5 file, or is damaged", path);
    return ERR_OK;
}

static int read_text(hid_t attribute, hid_t type, char *out, size_t room)
{
    size_t bytes = H5Tget_size(type);
    if (H5Tis_variable_str(type) > 0) {
        char *text = NULL;
        hid_t memory = H5Tcopy(type);
        int good = H5Aread(attribute, memory, &text) >= 0 && text;
        if (good)
            snprintf(out, room, "%s", text);
        H5Tclose(memory);
        H5free_memory(text);
        return good;
    }
    char text[1024];
    if (bytes < 1 || bytes >= sizeof text || H5Aread(attribute, type, text) < 0)
        return 0;
    text[bytes] = 0;
    snprintf(out, room, "%s", text);
    return 1;
}

int h5_text(hid_t object, const char *name, char *out, size_t room)
{
    int good = 0;
    out[0] = 0;
    if (H5Aexists(object, name) <= 0)
        return 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return 0;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    if (H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1)
        good = read_text(attribute, type, out, room);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return good;
}

int h5_write_text(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int good = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}
#endif
