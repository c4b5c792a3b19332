/* NIfTI-1 and NIfTI-2 volumes: written as float32, their headers read. */
#ifndef TP_STORE_FORMAT_NIFTI_H
#define TP_STORE_FORMAT_NIFTI_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

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

/* Everything a header says besides sizes and types. A file of either version can hold it; numbers
 * of version 2 that need 64 bits are rounded in version 1. */
struct nifti_details {
    int64_t dim_info, intent_code, slice_start, slice_end, slice_code, units, qform_code,
        sform_code;
    double slope, intercept; /* as stored: a slope of 0 means none */
    double pixdim[8];        /* [0]: the sign of the qform's third axis */
    double intent[3], cal_max, cal_min, slice_duration, time_offset;
    double quaternion[3], offset[3], srow[12];
    char description[80], aux_file[24], intent_name[16];
    const unsigned char *extensions; /* esize, ecode and bytes of each, little-endian; borrowed */
    int64_t extensions_bytes;
};

struct nifti_header {
    int version;
    int dims;
    int64_t shape[7]; /* x, y, z, t, ... */
    double spacing[7];
    int datatype, bits, big_endian;
    double slope, intercept; /* that hold: 1 and 0 where the file names none */
    int64_t data_offset;
    int pair;       /* .hdr and .img */
    int analyze;    /* Analyze 7.5, whose header NIfTI-1 took over: no place in the world */
    int extensions; /* bytes of them follow the header */
    struct nifti_details details;
};
/* .nii, .nii.gz or the .hdr of a pair. ERR_INPUT for impossible headers, and where a plain .nii is
 * shorter than its header says. */
enum err nifti_read_header(const char *path, struct nifti_header *h);
/* The same from the first `n` bytes of the (uncompressed) file; any bytes are safe. */
enum err nifti_parse(const char *name, const unsigned char *bytes, size_t n,
                     struct nifti_header *h);

/* Copies the fields in nifti_details: from a header's bytes, and into one (little-endian). */
void nifti_details_read(const unsigned char *bytes, int version, int swap, struct nifti_details *d);
void nifti_details_write(const struct nifti_details *d, int version, unsigned char *bytes);
/* "mm", "s"; NULL: unknown. Axis 0 to 2 are x, y, z, axis 3 is t. */
const char *nifti_unit(int64_t units, int axis);
/* The code of a unit by its name ("mm", "micrometer"); 0: unknown. */
int nifti_unit_code(const char *unit);

/* Voxel indices to the world, and where it comes from: "sform", "qform" or "pixdim". */
const char *nifti_affine(const struct nifti_details *d, double m[3][4]);
/* Axis i of the target is axis from[i] of the source. Returns 0 where x, y and z are no longer the
 * first three axes, so that the place in the world cannot be kept. */
int nifti_reorder(struct nifti_details *d, int dims, const int *from);

#endif
