/* Thin layer over libhdf5: opening with sentences, text attributes. Only in builds with libhdf5
 * (TP_HDF5). */
#ifndef TP_STORE_FORMAT_H5_H
#define TP_STORE_FORMAT_H5_H

#include <stddef.h>

#include "base/err.h"
#include "host/store/format/h5_library.h"

/* Before any other call of libhdf5: it is opened, and its own error printing turned off for good.
 * `path` is for the sentence where it is not there. */
enum err h5_start(const char *path);

/* Opens for reading. */
enum err h5_open(const char *path, hid_t *file);

#define H5_REFERENCE 16 /* bytes of a reference to variable-length data */
/* The type into which texts of variable length are read as references; -1: it failed. */
hid_t h5_reference_type(void);

/* Writes a text attribute of fixed length; 0: it failed. */
int h5_write_text(hid_t object, const char *name, const char *text);

#endif
