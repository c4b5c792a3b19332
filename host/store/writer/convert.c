/* One array from any file into another format; what was written is read back and compared before
 * it gets its name. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/log.h"
#include "host/base/memory.h"
#include "host/store/engine/engine.h"
#include "host/store/writer/writer.h"

#define SLAB_BYTES ((int64_t)64 << 20)

static const struct writer_format *format_of(const char *path)
{
    static const struct writer_format *const all[] = {&write_npy,  &write_nifti, &write_nifti_gz,
                                                      &write_tiff, &write_zarr,  &write_hdf5};
    const size_t n = strlen(path);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t k = strlen(all[i]->suffix);
        if (n > k && !strcmp(path + n - k, all[i]->suffix))
            return all[i];
    }
    return NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void writer_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

enum err writer_read(struct store *s, struct store_array *a, const struct writer *w,
                     const int *from, int64_t first, int64_t count, void *out)
{
    struct engine_box b = engine_all(a);
    int64_t stride[STORE_DIMS] = {0}, n = w->type.bytes;
    const int slow = w->fortran ? w->dims - 1 : 0;
    if (w->dims) {
        b.start[from[slow]] = first;
        b.count[from[slow]] = count;
    }
    for (int k = 0; k < w->dims; k++) { /* from the fastest dimension of the target on */
        const int d = from[w->fortran ? k : w->dims - 1 - k];
        stride[d] = n;
        n *= b.count[d];
    }
    return engine_read(s, a, &b, w->type, out, stride);
}

int64_t writer_slab_bytes(const struct writer *w)
{
    int64_t n = w->type.bytes;
    for (int i = 0; i < w->dims; i++)
        if (i != (w->fortran ? w->dims - 1 : 0))
            n *= w->shape[i];
    return n;
}

static enum err write_all(struct store *s, struct store_array *a, struct writer *w,
                          const struct writer_format *f, void *slab)
{
    const int64_t total = w->dims ? w->shape[w->fortran ? w->dims - 1 : 0] : 1;
    for (int64_t i = 0; i < total; i += w->step) {
        const int64_t n = total - i < w->step ? total - i : w->step;
        progress("writing", (double)i, (double)total);
        TRY(writer_read(s, a, w, w->from, i, n, slab));
        TRY(f->slab(w, i, n, slab));
    }
    return ERR_OK;
}

/* The target as its own reader sees it, against the source. */
static enum err compare_all(struct store *s, struct store_array *a, const struct writer *w,
                            unsigned char *slab, unsigned char *other)
{
    struct store *made;
    struct store_array *b;
    const int64_t total = w->dims ? w->shape[w->fortran ? w->dims - 1 : 0] : 1;
    int same[STORE_DIMS];
    for (int i = 0; i < STORE_DIMS; i++)
        same[i] = i;
    TRY(store_open(w->made, &made));
    enum err e = store_find(made, NULL, &b);
    /* A page of one plane has no first dimension. */
    const int flat = !e && b->dims == w->dims - 1 && w->dims && w->shape[0] == 1;
    if (!e && (b->dims != w->dims - flat ||
               memcmp(b->shape, w->shape + flat, (size_t)b->dims * sizeof *b->shape) != 0))
        e = FAIL(ERR_FAILED, "%s: what was written has another shape", w->path);
    for (int64_t i = 0; i < total && !e; i += w->step) {
        const int64_t n = total - i < w->step ? total - i : w->step;
        progress("comparing", (double)i, (double)total);
        e = writer_read(s, a, w, w->from, i, n, slab);
        if (!e)
            e = flat ? engine_read(made, b, NULL, w->type, other, NULL)
                     : writer_read(made, b, w, same, i, n, other);
        if (!e && memcmp(slab, other, (size_t)(n * writer_slab_bytes(w))) != 0)
            e = FAIL(ERR_FAILED, "%s: what was written differs from %s; it is removed", w->path,
                     s->name);
    }
    store_close(made);
    return e;
}

static void list_lost(const struct store *s, const struct store_array *a, const struct writer *w,
                      const struct writer_format *f, struct writer_result *r)
{
    int n = 0;
    const size_t room = sizeof r->lost;
    const int plain = f == &write_npy || f == &write_tiff;
    int spacing = 0, axes = 0;
    for (int i = 0; i < w->dims; i++) {
        static const char *const implied[] = {"x", "y", "z", "t"};
        const char *axis = a->axis[w->from[i]];
        spacing |= a->spacing[w->from[i]] > 0;
        axes |= axis && !(f->fortran && i < 4 && !strcmp(axis, implied[i]));
    }
    if ((plain || f == &write_hdf5) && spacing)
        n += snprintf(r->lost + n, room - (size_t)n, ", spacing");
    if ((plain || f->fortran) && axes)
        n += snprintf(r->lost + n, room - (size_t)n, ", names of axes");
    if ((plain || f == &write_hdf5) && (a->slope != 1 || a->intercept != 0))
        n += snprintf(r->lost + n, room - (size_t)n, ", slope and intercept");
    for (int i = 0; i < s->arrays_count && n < 1800; i++)
        if (s->arrays[i] != a)
            n += snprintf(r->lost + n, room - (size_t)n, ", array %.100s", s->arrays[i]->name);
    for (int i = 0; i < s->notes_count && n < 1800; i++)
        n += snprintf(r->lost + n, room - (size_t)n, ", %.100s", s->notes[i].name);
    if (n)
        memmove(r->lost, r->lost + 2, strlen(r->lost) - 1);
}

/* In NIfTI x comes first; arrays that end in x are turned round. */
static enum err set_dimensions(struct writer *w, const struct store_array *a, int fortran)
{
    const int turn =
        fortran && a->dims > 1 && a->axis[a->dims - 1] && !strcmp(a->axis[a->dims - 1], "x");
    w->dims = a->dims;
    for (int i = 0; i < a->dims; i++)
        w->from[i] = turn ? a->dims - 1 - i : i;
    if (w->options->order_dims)
        TRY(writer_order(w->options, a->dims, w->from));
    for (int i = 0; i < a->dims; i++)
        w->shape[i] = a->shape[w->from[i]];
    return ERR_OK;
}

static enum err run(struct store *s, struct store_array *a, struct writer *w,
                    const struct writer_format *f, struct writer_result *r)
{
    void *slab = NULL, *other = NULL;
    TRY(f->begin(w));
    const int64_t bytes = writer_slab_bytes(w), fits = SLAB_BYTES / bytes;
    if (!f->in_chunks && w->step < fits)
        w->step = fits;
    enum err e = mem_alloc("a slab", (size_t)(bytes * w->step), &slab);
    if (!e)
        e = mem_alloc("a slab", (size_t)(bytes * w->step), &other);
    if (!e)
        e = write_all(s, a, w, f, slab);
    e = f->finish(w, e);
    if (!e && w->made[0])
        e = compare_all(s, a, w, slab, other);
    mem_free(slab);
    mem_free(other);
    progress_end();
    r->bytes = store_elements(a) * w->type.bytes;
    return e;
}

enum err store_convert(const char *in, const char *out, const struct writer_options *o,
                       struct writer_result *result)
{
    const struct writer_format *f = format_of(out);
    struct store *s;
    struct store_array *a;
    *result = (struct writer_result){.bytes = 0};
    const size_t n = strlen(out);
    if (n > 5 && !strcmp(out + n - 5, ".json"))
        return store_references(in, out, result);
    FAIL_IF(!f, ERR_USAGE,
            "%s: the name must end in .npy, .nii, .nii.gz, .tif, .h5, .zarr or .json (references)",
            out);
    TRY(store_open(in, &s));
    struct writer w = {.path = out, .options = o, .fortran = f->fortran, .step = 1};
    enum err e = store_find(s, o->array, &a);
    if (!e) {
        w.source = a;
        w.type = o->type.bytes ? o->type : a->dtype;
        w.type.swap = 0;
        e = set_dimensions(&w, a, f->fortran);
    }
    if (!e) {
        e = engine_converts(a->dtype, w.type)
                ? run(s, a, &w, f, result)
                : FAIL(ERR_UNSUPPORTED, "%s: %s cannot be converted to that type", in, a->name);
        list_lost(s, a, &w, f, result);
    }
    if (w.file.stream || w.file.path) {
        e = e ? e : outfile_commit(&w.file);
        outfile_abort(&w.file);
    } else if (!e && rename(w.made, out)) {
        e = FAIL(ERR_IO, "%s: cannot be renamed: %s", out, strerror(errno));
    }
    if (e && f == &write_zarr && w.made[0])
        writer_remove(w.made);
    free(w.state);
    store_close(s);
    return e;
}
