/* Chooses the format of a volume by the end of its name. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/store/format/nifti.h"
#include "host/store/format/npy.h"
#include "host/store/format/volume.h"

static const char *const suffixes[] = {".nii.gz", ".nii", ".npy"};

const char *volume_suffix(const char *path)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (text_has_suffix(path, suffixes[i]))
            return suffixes[i];
    return NULL;
}

struct volume_writer {
    struct npy_slabs *npy; /* or */
    struct nifti_slabs *nifti;
};

enum err volume_writer_open(const char *path, const struct volume *v, struct volume_writer **out)
{
    const char *suffix = volume_suffix(path);
    const int64_t shape[] = {v->rows, v->cols, v->slices};
    const double spacing[] = {v->delta, volume_delta_row(v), volume_delta_slice(v)};
    *out = NULL;
    FAIL_IF(!suffix, ERR_USAGE, "%s: the name must end in .nii, .nii.gz or .npy", path);
    struct volume_writer *w = calloc(1, sizeof *w);
    FAIL_IF(!w, ERR_MEMORY, "%s: no memory left to write", path);
    enum err e = !strcmp(suffix, ".npy")
                     ? npy_slabs_open(path, shape, &w->npy)
                     : nifti_slabs_open(path, v->rows, v->cols, v->slices, spacing, &w->nifti);
    if (e)
        free(w);
    else
        *out = w;
    return e;
}

enum err volume_writer_add(struct volume_writer *w, int64_t first, int64_t count, const float *x)
{
    return w->npy ? npy_slabs_write(w->npy, first, count, x)
                  : nifti_slabs_write(w->nifti, count, x);
}

enum err volume_writer_close(struct volume_writer *w, enum err e)
{
    e = w->npy ? npy_slabs_close(w->npy, e) : nifti_slabs_close(w->nifti, e);
    free(w);
    return e;
}

double volume_writer_bytes(int64_t pixels, int64_t slices)
{
    return 4.0 * (double)pixels * (double)(slices < NIFTI_SLICES ? slices : NIFTI_SLICES);
}
