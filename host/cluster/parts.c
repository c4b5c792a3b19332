/* OUT.parts: `call` says what is made, `volume` holds it, `done-N` are empty. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "host/cluster/recon.h"

#define CALL_BYTES (PARTS_TEXT + 6 * 1024)

enum err parts_of(struct scan_context *c, struct parts *out)
{
    const char *const volume = c->request->out;
    *out = (struct parts){.scan = c};
    const int n = snprintf(out->folder, sizeof out->folder, "%s.parts", volume);
    FAIL_IF(n >= (int)sizeof out->folder, ERR_USAGE, "`out=%.60s`...: the name is too long",
            volume);
    snprintf(out->file, sizeof out->file, "%s/volume", out->folder);
    return volume_parts_of(out->file, volume, &c->model.volume, &out->volume);
}

/* A file as its name, size and time: another content has others. */
static int call_add_file(char *text, const char *word, const char *path)
{
    struct stat st = {0};
    if (!path)
        return 0;
    stat(path, &st);
    return snprintf(text, 1024, "%s %.800s %lld %lld.%09ld\n", word, path, (long long)st.st_size,
                    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* Returns how a value was asked for: 0 not at all, 1 given, 2 to be found. */
static int value_asked(double asked)
{
    return isnan(asked) ? 0 : isinf(asked) ? 2 : 1;
}

void parts_describe(const struct scan_context *c, char text[PARTS_TEXT])
{
    const struct scan_request *r = c->request;
    const struct volume *v = &c->model.volume;
    const int helical = r->redundancy == REDUNDANCY_HELICAL, phase = !isnan(r->phase[0]);
    const enum center_method search = r->center_method;
    char *at = text;
    at += snprintf(at, 512, "angles %.200s\nrows %.60s\nbin %" PRId64 "\n",
                   r->source.angles ? r->source.angles : "-", r->rows ? r->rows : "-", r->bin);
    if (!isnan(r->center))
        at += snprintf(at, 64, "center %.17g\n", r->center);
    at += snprintf(at, 512, "drift %d\nzingers %.17g\nair %" PRId64 "\nleast %.17g\nhardening",
                   r->source.drift, r->zingers / 100, r->air, r->least);
    for (int i = 0; i < PREPARE_COEFFICIENTS; i++)
        at += snprintf(at, 32, " %.17g", r->hardening[i]);
    at += snprintf(at, 256, "\nphase %.17g %.17g %.17g %.17g\ntilt %d %.17g\noverlap %d %.17g",
                   phase ? r->phase[PHASE_DELTA_BETA] : 0, r->phase[PHASE_ENERGY],
                   r->phase[PHASE_DISTANCE], c->pixel, value_asked(r->tilt), c->result->tilt,
                   value_asked(r->overlap), c->result->overlap);
    at += snprintf(at, 64, "\ncenter method %d %d\n", search ? (int)search - 1 : 0, search != 0);
    snprintf(at, 512,
             "method %d\nbackproject %d\nrings %d\nredundancy %d %d\nvolume %" PRId64 " %" PRId64
             " %" PRId64 "\n",
             (int)c->method - 1, r->voxel_driven, r->rings, helical ? 0 : (int)r->redundancy,
             helical, v->rows, v->cols, v->slices);
}

/* Describes everything that the voxels depend on. The plan comes last. */
static void describe_all(const struct scan_context *c, char text[CALL_BYTES])
{
    const struct scan_request *r = c->request;
    char *at = text;
    at += call_add_file(at, "in", r->source.path);
    at += call_add_file(at, "flats", r->source.flats);
    at += call_add_file(at, "darks", r->source.darks);
    at += call_add_file(at, "flats after", r->source.flats_after);
    at += call_add_file(at, "geometry", r->geometry);
    at += call_add_file(at, "poses", r->poses);
    parts_describe(c, at);
}

static void parts_path(const struct parts *p, const char *what, char path[4096 + 32])
{
    snprintf(path, 4096 + 32, "%s/%s", p->folder, what);
}

static void mark_name(const struct parts *p, int64_t slab, char path[4096 + 32])
{
    char what[32];
    snprintf(what, sizeof what, "done-%" PRId64, slab);
    parts_path(p, what, path);
}

int parts_has(const struct parts *p, int64_t slab)
{
    char path[4096 + 32];
    mark_name(p, slab, path);
    return !access(path, F_OK);
}

/* Deletes the files that an earlier call left, whatever they are. */
static void parts_clear(const struct parts *p, int64_t most)
{
    char path[4096 + 32];
    for (int64_t i = 0; i < most; i++) {
        mark_name(p, i, path);
        unlink(path);
    }
    parts_path(p, "call", path);
    unlink(path);
    unlink(p->file);
}

static enum err parts_compare_call(const struct parts *p, const char *left, const char *now,
                                   struct slabs *plan)
{
    const char *last = strstr(left, "\nslices ");
    const size_t n = last ? (size_t)(last + 1 - left) : 0;
    int64_t thickness = 0;
    if (n && n == strlen(now) && !memcmp(left, now, n))
        thickness = strtoll(last + 8, NULL, 10);
    FAIL_IF(thickness < 1 || thickness > plan->length, ERR_INPUT,
            "`resume`: %s is of another call (it says which): take `resume` away to begin again",
            p->folder);
    plan->thickness = thickness;
    plan->count = (plan->length + thickness - 1) / thickness;
    return ERR_OK;
}

static enum err write_call(const struct parts *p, const char *now, const struct slabs *plan)
{
    char path[4096 + 32], text[64];
    struct outfile f = {0};
    enum err e;
    parts_path(p, "call", path);
    snprintf(text, sizeof text, "slices %" PRId64 "\n", plan->thickness);
    TRY_OUT(outfile_open(&f, path));
    TRY_OUT(outfile_write(&f, now, strlen(now)));
    TRY_OUT(outfile_write(&f, text, strlen(text)));
    return outfile_commit(&f);
out:
    outfile_abort(&f);
    return e;
}

enum err parts_begin(const struct parts *p)
{
    struct slabs *plan = &p->scan->slabs;
    const struct volume *v = &p->scan->model.volume;
    char path[4096 + 32], now[CALL_BYTES], *left;
    size_t bytes;
    describe_all(p->scan, now);
    TRY(dir_make(p->folder));
    parts_path(p, "call", path);
    if (p->scan->request->resume && !access(path, F_OK)) {
        TRY(file_read_all(path, CALL_BYTES, &left, &bytes));
        enum err e = parts_compare_call(p, left, now, plan);
        free(left);
        return e;
    }
    parts_clear(p, v->slices);
    TRY(volume_parts_create(&p->volume, v));
    return write_call(p, now, plan); /* last: without it nothing is taken up again */
}

enum err parts_add(const struct parts *p, struct slab s, const float *x)
{
    return volume_parts_write(&p->volume, s.first, s.count, x);
}

enum err parts_mark(const struct parts *p, int64_t slab)
{
    char path[4096 + 32];
    mark_name(p, slab, path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    FAIL_IF(fd < 0 || fsync(fd) || close(fd), ERR_IO, "%s: cannot be written: %s", path,
            strerror(errno));
    return ERR_OK;
}

static enum err parts_write_picture(const struct parts *p)
{
    const struct volume *v = &p->scan->model.volume;
    void *room;
    TRY(mem_alloc("picture", (size_t)volume_pixels(v) * sizeof(float), &room));
    enum err e = volume_parts_read(&p->volume, v->slices / 2, room);
    if (!e)
        e = scan_recon_picture(p->scan, room, 1);
    mem_free(room);
    return e;
}

/* Reads the whole volume, slices fastest. */
static enum err read_back(const struct parts *p, const struct volume *v, float *x)
{
    const int64_t pixels = volume_pixels(v);
    void *slice;
    enum err e = ERR_OK;
    TRY(mem_alloc("a slice", (size_t)pixels * sizeof(float), &slice));
    for (int64_t k = 0; k < v->slices && !e; k++) {
        e = volume_parts_read(&p->volume, k, slice);
        for (int64_t i = 0; i < pixels && !e; i++)
            x[i * v->slices + k] = ((float *)slice)[i];
    }
    mem_free(slice);
    return e;
}

static enum err parts_compare_reference(const struct parts *p)
{
    const struct volume *v = &p->scan->model.volume;
    void *x;
    TRY(mem_alloc("the volume, for `reference`", (size_t)volume_voxels(v) * sizeof(float), &x));
    enum err e = read_back(p, v, x);
    if (!e)
        e = scan_recon_compare(p->scan, x);
    mem_free(x);
    return e;
}

void parts_drop(const struct parts *p)
{
    parts_clear(p, p->scan->model.volume.slices);
    rmdir(p->folder);
}

enum err parts_finish(const struct parts *p)
{
    const struct scan_request *r = p->scan->request;
    TRY((r->reference ? parts_compare_reference : parts_write_picture)(p));
    FAIL_IF(rename(p->file, r->out), ERR_IO, "%s: cannot become %s: %s", p->file, r->out,
            strerror(errno));
    parts_clear(p, p->scan->slabs.count);
    rmdir(p->folder);
    return ERR_OK;
}
