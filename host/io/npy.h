/* NumPy .npy files holding little-endian float32 in C order. */
#ifndef TP_IO_NPY_H
#define TP_IO_NPY_H

#include <stdint.h>

#include "host/base/err.h"

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
 * (`names[i]` stands in the sentence, e.g. "views"). *data from mem_alloc; shape is filled. Fails
 * on NaN/Inf only if `finite`. */
enum err npy_read(const char *path, int dims, int64_t *shape, const char *const *names, int finite,
                  float **data);

enum err npy_write(const char *path, int dims, const int64_t *shape, const float *data);
enum err npy_write_int32(const char *path, int dims, const int64_t *shape, const int32_t *data);

#endif
