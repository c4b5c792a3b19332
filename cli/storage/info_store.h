/* Facts of files that are arrays of chunks, for `info`. */
#ifndef TP_CLI_STORAGE_INFO_STORE_H
#define TP_CLI_STORAGE_INFO_STORE_H

#include "base/err.h"
#include "cli/doctor/facts.h"
#include "host/store/format/nifti.h"

/* All arrays of a file or folder that store_open knows. */
enum err info_store(const char *path, int json);
/* Voxel indices to the world: three rows, and the field of the header that says so. */
void info_affine(struct facts *f, const struct nifti_details *d);
/* A Zarr store or a folder of numbered TIFF files. */
int info_is_store(const char *folder);
/* Recognises the beginning of kerchunk references. */
int info_is_references(const char *head);

/* `info --histogram`. */

/* Prints the histogram of the first array that store_open finds. */
enum err info_histogram(const char *path, int bins, int json);

#endif
