/* Thin layer over libhdf5: opening with sentences, text attributes. Only in builds with libhdf5
 * (TP_HDF5). */
#ifndef TP_STORE_FORMAT_H5_H
#define TP_STORE_FORMAT_H5_H

#include <stddef.h>

#include "host/base/err.h"
#include "host/store/format/h5_library.h"

/* Before any other call of libhdf5: it is opened, and its own error printing turned off for good.
 * `path` is for the sentence where it is not there. */
enum err h5_start(const char *path);

/* Opens for reading. */
enum err h5_open(const char *path, hid_t *file);

/* Text attribute of an object, cut to `room`; 0 when there is none. */
int h5_text(hid_t object, const char *name, char *out, size_t room);
/* Of fixed length; 0: it failed. */
int h5_write_text(hid_t object, const char *name, const char *text);

#endif
