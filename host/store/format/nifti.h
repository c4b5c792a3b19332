/* NIfTI-1 and NIfTI-2 volumes: written as float32, their headers read. */
#ifndef TP_STORE_FORMAT_NIFTI_H
#define TP_STORE_FORMAT_NIFTI_H

#include <stddef.h>
#include <stdint.h>

#include "host/base/err.h"

/* NIfTI-1, .nii or .nii.gz by the name, float32; x = columns, y = rows, z = slices (the volume
 * array is transposed slab by slab on the way out, never as a whole). `spacing` in millimetres
 * {column, row, slice}. NIfTI-2 when a dimension exceeds 32767. */
enum err nifti_write(const char *path, int64_t rows, int64_t cols, int64_t slices,
                     const double spacing[3], const float *volume);

/* The header before the voxels, 4 bytes of "no extension" included; its bytes. */
size_t nifti_float_header(int64_t rows, int64_t cols, int64_t slices, const double spacing[3],
                          unsigned char h[544]);

/* Slices that are transposed together at most. */
#define NIFTI_SLICES 16

/* The same in slabs of slices, in order: each is (rows, cols, count). */
struct nifti_slabs;
enum err nifti_slabs_open(const char *path, int64_t rows, int64_t cols, int64_t slices,
                          const double spacing[3], struct nifti_slabs **out);
enum err nifti_slabs_write(struct nifti_slabs *w, int64_t count, const float *x);
/* Writes what is left and renames (e ERR_OK) or removes what there is; frees either way. */
enum err nifti_slabs_close(struct nifti_slabs *w, enum err e);

struct nifti_header {
    int version;
    int dims;
    int64_t shape[7]; /* x, y, z, t, ... */
    double spacing[7];
    int datatype, bits, big_endian;
    double slope, intercept;
    int64_t data_offset;
};
/* .nii, .nii.gz or the .hdr of a pair. ERR_INPUT for impossible headers, and where a plain .nii is
 * shorter than its header says. */
enum err nifti_read_header(const char *path, struct nifti_header *h);
/* The same from the first `n` bytes of the (uncompressed) file; any bytes are safe. */
enum err nifti_parse(const char *name, const unsigned char *bytes, size_t n,
                     struct nifti_header *h);

#endif
