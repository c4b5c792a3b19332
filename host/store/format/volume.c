/* Chooses the format of a volume by the end of its name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
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

enum err volume_require_space(const char *path, const struct volume *v)
{
    return text_has_suffix(path, ".gz")
               ? ERR_OK
               : file_require_space(path, volume_voxels(v) * (int64_t)sizeof(float));
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

/* Slabs of a volume, written by offset into a file that has its full size already. */

#define HEAD_BYTES 544

static size_t parts_make_header(int nifti, const struct volume *v, char head[HEAD_BYTES])
{
    const int64_t shape[] = {v->rows, v->cols, v->slices};
    const double spacing[] = {v->delta, volume_delta_row(v), volume_delta_slice(v)};
    return nifti ? nifti_float_header(v->rows, v->cols, v->slices, spacing, (unsigned char *)head)
                 : npy_float_header(shape, head);
}

enum err volume_parts_of(const char *path, const char *name, const struct volume *v,
                         struct volume_parts *out)
{
    char head[HEAD_BYTES];
    const char *suffix = volume_suffix(name);
    FAIL_IF(!suffix || !strcmp(suffix, ".nii.gz"), ERR_USAGE,
            "%s: a file that is written in parts must end in .nii or .npy", name);
    const int nifti = !strcmp(suffix, ".nii");
    *out = (struct volume_parts){path, nifti, volume_pixels(v), v->slices,
                                 (int64_t)parts_make_header(nifti, v, head)};
    return ERR_OK;
}

static enum err write_failed(const struct volume_parts *p)
{
    return FAIL(ERR_IO, "%s: writing failed: %s", p->path, strerror(errno ? errno : ENOSPC));
}

/* Whole or a failure; errno says why. */
static int parts_write_at(int fd, const void *data, size_t bytes, off_t at)
{
    const char *from = data;
    while (bytes) {
        errno = 0;
        const ssize_t n = pwrite(fd, from, bytes, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        from += n;
        bytes -= (size_t)n;
        at += n;
    }
    return 1;
}

static int64_t parts_file_bytes(const struct volume_parts *p)
{
    return p->head_bytes + p->pixels * p->slices * (int64_t)sizeof(float);
}

enum err volume_parts_create(const struct volume_parts *p, const struct volume *v)
{
    char head[HEAD_BYTES];
    const size_t bytes = parts_make_header(p->nifti, v, head);
    const int fd = open(p->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FAIL_IF(fd < 0, ERR_IO, "%s: cannot be made: %s", p->path, strerror(errno));
    errno = posix_fallocate(fd, 0, parts_file_bytes(p)); /* a full disk is met before the work */
    enum err e = errno || !parts_write_at(fd, head, bytes, 0) ? write_failed(p) : ERR_OK;
    if (close(fd) && !e)
        e = write_failed(p);
    return e;
}

/* (rows, cols, count) becomes (count, rows, cols), one slice at a time. */
static enum err parts_write_transposed(const struct volume_parts *p, int fd, int64_t first,
                                       int64_t count, const float *x)
{
    void *room;
    const size_t bytes = (size_t)p->pixels * sizeof *x;
    TRY(mem_alloc("slice of the file", bytes, &room));
    float *slice = room;
    int good = 1;
    for (int64_t k = 0; good && k < count; k++) {
        for (int64_t i = 0; i < p->pixels; i++)
            slice[i] = x[i * count + k];
        good = parts_write_at(fd, slice, bytes, p->head_bytes + (first + k) * (off_t)bytes);
    }
    mem_free(room);
    return good ? ERR_OK : write_failed(p);
}

static enum err write_cylinders(const struct volume_parts *p, int fd, int64_t first, int64_t count,
                                const float *x)
{
    const size_t bytes = (size_t)count * sizeof *x;
    if (count == p->slices)
        return parts_write_at(fd, x, bytes * (size_t)p->pixels, p->head_bytes) ? ERR_OK
                                                                               : write_failed(p);
    for (int64_t i = 0; i < p->pixels; i++)
        if (!parts_write_at(fd, x + i * count, bytes,
                            p->head_bytes + (i * p->slices + first) * (off_t)sizeof *x))
            return write_failed(p);
    return ERR_OK;
}

enum err volume_parts_write(const struct volume_parts *p, int64_t first, int64_t count,
                            const float *x)
{
    const int fd = open(p->path, O_WRONLY | O_CLOEXEC);
    FAIL_IF(fd < 0, ERR_IO, "%s: cannot be opened: %s", p->path, strerror(errno));
    enum err e = (p->nifti ? parts_write_transposed : write_cylinders)(p, fd, first, count, x);
    if (!e && fdatasync(fd))
        e = write_failed(p);
    if (close(fd) && !e)
        e = write_failed(p);
    return e;
}

enum err volume_parts_read(const struct volume_parts *p, int64_t k, float *slice)
{
    const int fd = open(p->path, O_RDONLY | O_CLOEXEC);
    FAIL_IF(fd < 0, ERR_IO, "%s: cannot be opened: %s", p->path, strerror(errno));
    const size_t bytes = (size_t)parts_file_bytes(p);
    const off_t there = lseek(fd, 0, SEEK_END);
    const char *file =
        there >= parts_file_bytes(p) ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    FAIL_IF(there < parts_file_bytes(p), ERR_IO,
            "%s: has %lld of %lld bytes: another program cut it", p->path, (long long)there,
            (long long)parts_file_bytes(p));
    FAIL_IF(file == MAP_FAILED, ERR_IO, "%s: cannot be mapped: %s", p->path, strerror(errno));
    const float *voxels = (const float *)(file + p->head_bytes);
    const int64_t stride = p->nifti ? 1 : p->slices, from = p->nifti ? k * p->pixels : k;
    for (int64_t i = 0; i < p->pixels; i++)
        slice[i] = voxels[from + i * stride];
    munmap((void *)(uintptr_t)file, bytes);
    return ERR_OK;
}
