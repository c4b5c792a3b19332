/* Volumes as files, by the name's end: .npy, .nii or .nii.gz. */
#ifndef TP_STORE_FORMAT_VOLUME_H
#define TP_STORE_FORMAT_VOLUME_H

#include "base/err.h"
#include "host/geom/scan.h"

/* The known end of `path` (".nii.gz"), NULL for others. */
const char *volume_suffix(const char *path);

/* A file that is written in slabs of slices, in order: each is (rows, cols, count). */
struct volume_writer;
/* *out is NULL after a failure. */
enum err volume_writer_open(const char *path, const struct volume *v, struct volume_writer **out);
enum err volume_writer_add(struct volume_writer *w, int64_t first, int64_t count, const float *x);
/* The file appears when e is ERR_OK; frees either way and returns e or what failed. */
enum err volume_writer_close(struct volume_writer *w, enum err e);
/* Bounds the memory for slabs of that many slices. */
double volume_writer_bytes(int64_t pixels, int64_t slices);

#endif
