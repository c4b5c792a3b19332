/* Calls of libhdf5 with errors in sentences. */
#ifdef TP_HDF5
#include <stdio.h>
#include <string.h>

#include "base/file.h"
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
    if (*file < 0) { /* its disk may answer no more */
        TRY(file_open(path, &f));
        fclose(f);
        return FAIL(ERR_INPUT, "%s: is not an HDF5 file, or is damaged", path);
    }
    return ERR_OK;
}

/* Leaves a reference of variable-length data as it lies in the file: libhdf5 would follow it. */
static herr_t keep_reference(hid_t from, hid_t to, H5T_cdata_t *data, size_t n, size_t stride,
                             size_t background_stride, void *values, void *background, hid_t list)
{
    (void)n, (void)stride, (void)background_stride, (void)values, (void)background, (void)list;
    if (data->command == H5T_CONV_INIT)
        data->need_bkg = H5T_BKG_NO;
    if (data->command != H5T_CONV_CONV)
        return 0;
    return H5Tget_size(from) == H5_REFERENCE && H5Tget_size(to) == H5_REFERENCE ? 0 : -1;
}

hid_t h5_reference_type(void)
{
    static hid_t raw = -1;
    if (raw >= 0)
        return raw;
    const hid_t text = H5Tcopy(H5T_C_S1), type = H5Tcreate(H5T_OPAQUE, H5_REFERENCE);
    if (text >= 0 && type >= 0 && H5Tset_size(text, H5T_VARIABLE) >= 0 &&
        H5Tregister(H5T_PERS_SOFT, "reference", text, type, keep_reference) >= 0)
        raw = type;
    H5Tclose(text);
    return raw;
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
