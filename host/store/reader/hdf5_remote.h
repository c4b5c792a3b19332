/* HDF5 files behind a URL: libhdf5 reads their metadata through a driver of its virtual file layer.
 */
#ifndef TP_STORE_READER_HDF5_REMOTE_H
#define TP_STORE_READER_HDF5_REMOTE_H

#include "host/store/format/h5.h"
#include "host/store/store.h"

/* Opens for reading. The store must live as long as the file. */
enum err h5_open_remote(struct store *s, int32_t object, hid_t *file);

#endif
