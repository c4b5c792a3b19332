/* A reader for each format: from a path and its first bytes to a store. open.c has the table. */
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
    int (*knows)(const struct reader_file *f);
    enum err (*open)(const struct reader_file *f, struct store **out);
};

extern const struct reader reader_npy, reader_nifti, reader_tiff, reader_tiff_stack, reader_hdf5,
    reader_zarr, reader_czi, reader_txrm, reader_refs;

#endif
