/* Checks objects of an HDF5 file before libhdf5 opens them: releases up to 1.10 and 1.12 read some
 * sizes and counts of a damaged file unchecked, and crash or never end. */
#ifndef TP_STORE_H5_OBJECT_H
#define TP_STORE_H5_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct h5_bytes { /* of a file */
    enum err (*read)(void *state, int64_t at, void *to, size_t n);
    void *state;
    int address, length; /* bytes of an address and of a length: its superblock says */
};

/* Reads both sizes. ERR_INPUT: it has no superblock that is known. */
enum err h5_bytes_sizes(struct h5_bytes *b);

/* Walks the header at `address`: every message lies in it, and what libhdf5 takes from data types,
 * shapes, fill values, filters, layouts and attributes lies in its message. Versions that are not
 * known pass: libhdf5 knows or refuses them. ERR_INPUT: why it is not opened. */
enum err h5_object_check(const struct h5_bytes *b, uint64_t address);

/* Finds object `index` of the global heap at `at`. whole: all objects are checked, for libhdf5
 * walks them before it reads any. */
enum err h5_heap_find(const struct h5_bytes *b, uint64_t at, uint64_t index, int whole,
                      int64_t *place, uint64_t *bytes);

#endif
