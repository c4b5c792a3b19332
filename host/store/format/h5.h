/* Thin layer over libhdf5: opening with sentences, text attributes, float32 hyperslabs. Only in
 * builds with libhdf5 (TP_HDF5). A file's lengths are checked before anything is allocated for
 * them. */
#ifndef TP_STORE_FORMAT_H5_H
#define TP_STORE_FORMAT_H5_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "host/base/err.h"

#define H5_DIMS 3

struct h5_array {
    const char *path, *name; /* for sentences; borrowed */
    hid_t dataset;           /* negative when not open */
    int dims;                /* 0 (scalar) to H5_DIMS */
    int64_t shape[H5_DIMS];
    char dtype[16];                     /* "uint16", "float32", ... */
    int64_t chunk[H5_DIMS], file_bytes; /* chunk[0] 0: in one piece */
};

/* Opens for reading, with HDF5's own error printing turned off for good. */
enum err h5_open(const char *path, hid_t *file);

/* 1 when every group and link of "a/b/c" exists. */
int h5_exists(hid_t file, const char *name);

/* A numeric dataset of at most H5_DIMS dimensions, none of them 0, that has its data in this file:
 * links to others, virtual and external datasets are refused, for they could name any file. */
enum err h5_array_open(const char *path, hid_t file, const char *name, struct h5_array *out);
void h5_array_close(struct h5_array *a);

/* Text attribute of an object, cut to `room`; 0 when there is none. */
int h5_text(hid_t object, const char *name, char *out, size_t room);

/* A block of an array of `shape`: all three have the dataset's number of dimensions. */
struct h5_block {
    int64_t shape[H5_DIMS], start[H5_DIMS], count[H5_DIMS];
};

/* Reads the block `from` (its shape is not used) as float32 into the block `to` of the array `out`.
 * Both hold as many elements and are read and written with the last dimension fastest. */
enum err h5_read(const struct h5_array *a, const struct h5_block *from, float *out,
                 const struct h5_block *to);

/* All elements as float64; out holds as many. */
enum err h5_read_all(const struct h5_array *a, double *out);

/* The only element of a dataset as float64; 0 when the dataset is missing. */
int h5_scalar(const char *path, hid_t file, const char *name, double *out);

#endif
