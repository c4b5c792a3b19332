/* Volumes as files, by the name's end: .npy, .nii or .nii.gz. */
#ifndef TP_STORE_FORMAT_VOLUME_H
#define TP_STORE_FORMAT_VOLUME_H

#include "base/err.h"
#include "host/geom/scan.h"

/* The known end of `path` (".nii.gz"), NULL for others. */
const char *volume_suffix(const char *path);

/* ERR_IO where its disk has no room for the volume; a compressed one takes any. */
enum err volume_require_space(const char *path, const struct volume *v);

/* A file that is written in slabs of slices, in order: each is (rows, cols, count). */
struct volume_writer;
/* *out is NULL after a failure. */
enum err volume_writer_open(const char *path, const struct volume *v, struct volume_writer **out);
enum err volume_writer_add(struct volume_writer *w, int64_t first, int64_t count, const float *x);
/* The file appears when e is ERR_OK; frees either way and returns e or what failed. */
enum err volume_writer_close(struct volume_writer *w, enum err e);
/* Bounds the memory for slabs of that many slices. */
double volume_writer_bytes(int64_t pixels, int64_t slices);

/* A volume file that several processes write in slabs, in any order: made at its full size first.
 * Only .npy and .nii, whose voxels lie at known places. */

struct volume_parts {
    const char *path; /* borrowed */
    int nifti;
    int64_t pixels, slices;
    int64_t head_bytes;
};

/* `name` says the format by its end, `path` where the file lies. ERR_USAGE for .nii.gz. Touches no
 * file. */
enum err volume_parts_of(const char *path, const char *name, const struct volume *v,
                         struct volume_parts *out);
/* The file with its header and all voxels 0; an older one is emptied. */
enum err volume_parts_create(const struct volume_parts *p, const struct volume *v);
/* Slices [first, first + count), (rows, cols, count); on the disk when it returns. */
enum err volume_parts_write(const struct volume_parts *p, int64_t first, int64_t count,
                            const float *x);
/* Reads slice k, (rows, cols). */
enum err volume_parts_read(const struct volume_parts *p, int64_t k, float *slice);

#endif
