/* A volume file that several processes write in slabs, in any order: made at its full size first.
 * Only .npy and .nii, whose voxels lie at known places. */
#ifndef TP_STORE_FORMAT_VOLUME_PARTS_H
#define TP_STORE_FORMAT_VOLUME_PARTS_H

#include "base/err.h"
#include "host/geom/scan.h"

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
