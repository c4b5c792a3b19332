/* A reader for each format: from a path and its first bytes to a store. A new one adds its name to
 * READER_LIST. */
#ifndef TP_STORE_READER_READER_H
#define TP_STORE_READER_READER_H

#include <stddef.h>

#include "host/store/store.h"

struct reader_file {
    const char *path;
    int is_folder;
    const unsigned char *head; /* its first bytes, followed by a NUL */
    size_t head_bytes;
};

struct reader {
    const char *format;
    const char *name; /* in the list of known formats */
    int (*knows)(const struct reader_file *f);
    enum err (*open)(const struct reader_file *f, struct store **out);
};

/* Every reader, in the order in which they are asked. NAME.c defines reader_NAME; flat.c the first four. */
#define READER_LIST(X)                                                                             \
    X(npy)                                                                                         \
    X(mrc)                                                                                         \
    X(nrrd)                                                                                        \
    X(metaimage)                                                                                   \
    X(hdf5) X(tiff) X(czi) X(txrm) X(zarr) X(zip) X(refs) X(tiff_stack) X(dicom) X(nifti)

#define READER_DECLARE(name) extern const struct reader reader_##name;
READER_LIST(READER_DECLARE)
#undef READER_DECLARE

#endif
