/* NumPy .npy files holding little-endian float32 in C order. */
#ifndef TP_STORE_FORMAT_NPY_H
#define TP_STORE_FORMAT_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define NPY_DIMS 8

struct npy_header {
    char dtype[16]; /* "<f4" */
    int fortran;
    int dims;
    int64_t shape[NPY_DIMS];
    int64_t data_offset; /* bytes */
};

/* Parses the first `bytes` bytes of a file (any content is safe). */
enum err npy_parse(const char *path, const unsigned char *head, size_t bytes, struct npy_header *h);

/* Reads float32 C order of exactly `dims` dimensions and, where shape[i] >= 0, that length
 * (`names[i]` is in the sentence, e.g. "views"). *data from mem_alloc; shape is filled. Fails
 * on NaN/Inf only if `finite`. */
enum err npy_read(const char *path, int dims, int64_t *shape, const char *const *names, int finite,
                  float **data);

/* Rows [first, first + count) of the second of three dimensions, (shape[0], count, shape[2]), into
 * *data from mem_alloc: detector rows of a sinogram that does not fit into memory. */
enum err npy_read_rows(const char *path, int64_t *shape, const char *const *names, int finite,
                       int64_t first, int64_t count, float **data);

enum err npy_write(const char *path, int dims, const int64_t *shape, const float *data);
/* A volume of rows x cols x slices in slabs of slices: each is (rows, cols, count). */
struct npy_slabs;
enum err npy_slabs_open(const char *path, const int64_t shape[3], struct npy_slabs **out);
enum err npy_slabs_write(struct npy_slabs *w, int64_t first, int64_t count, const float *x);
/* Writes what is left and renames (e ERR_OK) or removes what there is; frees either way. */
enum err npy_slabs_close(struct npy_slabs *w, enum err e);

/* Makes the header before the data of a float32 array; returns its bytes. */
size_t npy_float_header(const int64_t shape[3], char out[512]);

/* Writes elements of another type, little-endian: "<i2" of 2 bytes. */
enum err npy_write_type(const char *path, const char *descr, int bytes, int dims,
                        const int64_t *shape, const void *data);
enum err npy_write_int32(const char *path, int dims, const int64_t *shape, const int32_t *data);

#endif
