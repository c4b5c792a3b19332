/* Loading and saving of files that the operation makes itself: a phantom, in a folder of $TMPDIR
 * that nobody else can enter. What is read has no name any more: nothing is left behind. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/store/engine/engine.h"
#include "host/store/format/nifti.h"
#include "host/suite/catalogue/inputs.h"
#include "host/suite/catalogue/volume.h"

static enum err make_folder(struct volume_file *f)
{
    const char *where = getenv("TMPDIR");
    snprintf(f->folder, sizeof f->folder, "%s/tomoprof-XXXXXX", where && *where ? where : "/tmp");
    FAIL_IF(!mkdtemp(f->folder), ERR_IO, "%s: cannot be made: %s; set TMPDIR", f->folder,
            strerror(errno));
    f->has_folder = 1;
    return ERR_OK;
}

static void volume_path(const struct volume_file *f, int gz, char out[VOLUME_PATH])
{
    snprintf(out, VOLUME_PATH, "%s/volume.nii%s", f->folder, gz ? ".gz" : "");
}

static void unlink_all(struct volume_file *f)
{
    char path[VOLUME_PATH];
    for (int gz = 0; gz < 2 && f->has_folder; gz++) {
        volume_path(f, gz, path);
        unlink(path);
    }
    if (f->has_folder)
        rmdir(f->folder);
    f->has_folder = 0;
}

void volume_finish(struct run_state *s)
{
    struct volume_file *f = &s->file;
    for (int i = 0; i < 2; i++)
        if (f->map[i])
            munmap(f->map[i], (size_t)f->bytes);
    if (f->opened)
        close(f->fd);
    unlink_all(f);
    *f = (struct volume_file){0};
}

static enum err write_nifti_file(struct run_state *s, int gz)
{
    static const double spacing[3] = {1, 1, 1};
    const struct volume *v = &s->model.volume;
    char path[VOLUME_PATH];
    volume_path(&s->file, gz, path);
    return nifti_write(path, v->rows, v->cols, v->slices, spacing, s->in.host);
}

static enum err prepare_file(struct run_state *s, int gz)
{
    struct volume_file *f = &s->file;
    struct stat st;
    char path[VOLUME_PATH];
    s->large = 1; /* files are loaded into the host's memory, whatever computes */
    TRY(prepare_volume(s));
    TRY(make_folder(f));
    TRY(write_nifti_file(s, gz));
    volume_path(f, gz, path);
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    FAIL_IF(f->fd < 0 || fstat(f->fd, &st), ERR_IO, "%s: cannot be read: %s", path,
            strerror(errno));
    f->opened = 1;
    f->bytes = (int64_t)st.st_size;
    unlink_all(f);
    return ERR_OK;
}

enum err prepare_nii(struct run_state *s)
{
    return prepare_file(s, 0);
}

enum err prepare_nii_gz(struct run_state *s)
{
    return prepare_file(s, 1);
}

enum err prepare_save(struct run_state *s)
{
    s->large = 1;
    TRY(prepare_volume(s));
    return make_folder(&s->file);
}

/* By its descriptor: the name is gone. */
static void path_now(const struct volume_file *f, char out[VOLUME_PATH])
{
    snprintf(out, VOLUME_PATH, "/proc/self/fd/%d", f->fd);
}

/* Opened, its header judged, mapped: the result is a view of the voxels as they are stored. */
enum err run_map(struct run_state *s)
{
    struct volume_file *f = &s->file;
    struct nifti_header h;
    unsigned char head[540];
    char path[VOLUME_PATH];
    path_now(f, path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    FAIL_IF(fd < 0, ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    void *map = MAP_FAILED;
    const ssize_t n = pread(fd, head, sizeof head, 0);
    enum err e = nifti_parse("volume.nii", head, n > 0 ? (size_t)n : 0, &h);
    if (!e)
        map = mmap(NULL, (size_t)f->bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    TRY(e);
    FAIL_IF(map == MAP_FAILED, ERR_IO, "volume.nii: cannot be mapped: %s", strerror(errno));
    f->map[1] = f->map[0]; /* taken back outside of the time, by work_map */
    f->map[0] = map;
    const int64_t bytes = volume_step_voxels(s->step.out) * (int64_t)sizeof(float);
    FAIL_IF(h.data_offset + bytes > f->bytes, ERR_IO, "volume.nii: ends early");
    s->out.buffer = (struct buffer){PLACE_HOST, 0, (size_t)bytes, (char *)map + h.data_offset};
    return ERR_OK;
}

struct work work_map(struct run_state *s)
{
    if (s->file.map[1])
        munmap(s->file.map[1], (size_t)s->file.bytes);
    s->file.map[1] = NULL;
    return (struct work){0, 0, 0}; /* nothing was read */
}

enum err run_touch(struct run_state *s)
{
    TRY(run_map(s));
    const uint32_t *words = s->out.buffer.ptr;
    volatile uint32_t all = 0;
    uint32_t sum = 0;
    for (size_t i = 0; i < s->out.buffer.bytes / sizeof *words; i++)
        sum += words[i];
    all = sum;
    (void)all;
    return ERR_OK;
}

struct work work_touch(struct run_state *s)
{
    work_map(s);
    return (struct work){0, (double)s->out.buffer.bytes, (double)s->out.buffer.bytes};
}

/* Through the loading engine: of the file only what the box needs. x, y, z of the file are columns,
 * rows, slices. */
enum err run_load(struct run_state *s)
{
    static const int axis[3] = {1, 0, 2};
    const struct store_dtype real = {'f', sizeof(float), 0};
    struct store *store;
    struct store_array *a;
    int64_t stride[STORE_DIMS];
    char path[VOLUME_PATH];
    path_now(&s->file, path);
    TRY(store_open(path, &store));
    enum err e = store_find(store, NULL, &a);
    if (!e && a->dims != 3)
        e = FAIL(ERR_INTERNAL, "volume.nii: %d dimensions", a->dims);
    if (!e) {
        struct engine_box box = engine_all(a);
        for (int i = 0; i < 3; i++) {
            box.start[i] = s->step.start[axis[i]];
            box.count[i] = s->step.out[axis[i]];
        }
        engine_strides(a, &box, sizeof(float), 1, stride);
        e = engine_read(store, a, &box, real, s->out.buffer.ptr, stride);
    }
    store_close(store);
    return e;
}

static enum err volume_save(struct run_state *s, int gz)
{
    return write_nifti_file(s, gz);
}

enum err run_save_nii(struct run_state *s)
{
    return volume_save(s, 0);
}

enum err run_save_nii_gz(struct run_state *s)
{
    return volume_save(s, 1);
}

/* Read and written once. */
struct work work_file(struct run_state *s)
{
    const double box = 4.0 * (double)volume_step_voxels(s->step.out);
    const double stored =
        s->file.bytes && (double)s->file.bytes < box ? (double)s->file.bytes : box;
    return (struct work){0, box + stored, box + stored};
}

/* Voxels in the order of the file against those of the phantom: all must be the same. */
static enum err compare_voxels(const struct run_state *s, const float *y)
{
    const struct volume_step *p = &s->step;
    const int64_t *n = p->in;
    for (int64_t k = 0, at = 0; k < p->out[2]; k++)
        for (int64_t r = 0; r < p->out[0]; r++)
            for (int64_t c = 0; c < p->out[1]; c++, at++) {
                const float want = s->in.host[((r + p->start[0]) * n[1] + c + p->start[1]) * n[2] +
                                              k + p->start[2]];
                FAIL_IF(memcmp(&y[at], &want, sizeof want), ERR_FAILED,
                        "wrong result: %.9g at voxel %" PRId64 " of the file, %.9g was written",
                        (double)y[at], at, (double)want);
            }
    return ERR_OK;
}

enum err check_loaded(struct run_state *s)
{
    return compare_voxels(s, s->out.buffer.ptr);
}

/* Loads the saved file by the other way, and compares. */
enum err check_saved(struct run_state *s)
{
    struct volume_file *f = &s->file;
    char path[VOLUME_PATH];
    const size_t bytes = (size_t)volume_step_voxels(s->step.out) * sizeof(float);
    struct buffer loaded = {PLACE_HOST, 0, bytes, malloc(bytes)};
    FAIL_IF(!loaded.ptr, ERR_MEMORY, "no memory left to read the file back");
    volume_path(f, s->op->run == run_save_nii_gz, path);
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    enum err e = f->fd < 0 ? FAIL(ERR_IO, "%s: %s", path, strerror(errno)) : ERR_OK;
    const struct buffer out = s->out.buffer;
    s->out.buffer = loaded;
    if (!e)
        e = run_load(s);
    if (!e)
        e = compare_voxels(s, loaded.ptr);
    s->out.buffer = out;
    if (f->fd >= 0)
        close(f->fd);
    free(loaded.ptr);
    return e;
}
