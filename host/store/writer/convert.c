/* Converts one array from any file into another format; the written file is read back and compared
 * before it gets its name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "host/store/engine/engine.h"
#include "host/store/format/nifti.h"
#include "host/store/writer/outdir.h"
#include "host/store/writer/writer.h"

#define SLAB_BYTES ((int64_t)64 << 20)

static const struct writer_format *format_of(const char *path)
{
    static const struct writer_format *const all[] = {&write_npy,  &write_nifti, &write_nifti_gz,
                                                      &write_tiff, &write_zarr,  &write_hdf5,
                                                      &write_mrc,  &write_nrrd,  &write_metaimage};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (text_has_suffix(path, all[i]->suffix))
            return all[i];
    return NULL;
}

/* float64 becomes float32 or stays: each goes to the front of what was read already. */
static void apply_scale(const struct store_array *a, struct store_dtype type, void *out, int64_t n)
{
    unsigned char *at = out;
    for (int64_t i = 0; i < n; i++) {
        double d;
        memcpy(&d, at + 8 * i, sizeof d);
        d = a->slope * d + a->intercept;
        const float f = (float)d;
        memcpy(at + type.bytes * i, type.bytes == 4 ? (const void *)&f : (const void *)&d,
               type.bytes);
    }
}

enum err writer_read(struct store *s, struct store_array *a, const struct writer *w,
                     const int *from, int64_t first, int64_t count, void *out)
{
    struct engine_box b = engine_all(a);
    const int scale = w->scale && a == w->source;
    const struct store_dtype type = scale ? (struct store_dtype){'f', 8, 0} : w->type;
    int64_t stride[STORE_DIMS] = {0}, n = type.bytes;
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
    TRY(engine_read(s, a, &b, type, out, stride));
    if (scale)
        apply_scale(a, w->type, out, n / type.bytes);
    return ERR_OK;
}

int64_t writer_slab_bytes(const struct writer *w)
{
    int64_t n = w->type.bytes;
    for (int i = 0; i < w->dims; i++)
        if (i != (w->fortran ? w->dims - 1 : 0))
            n *= w->shape[i];
    return n;
}

static enum err convert_write(struct store *s, struct store_array *a, struct writer *w,
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
static enum err convert_compare(struct store *s, struct store_array *a, const struct writer *w,
                                unsigned char *slab, unsigned char *other)
{
    struct store *made;
    struct store_array *b;
    const int64_t total = w->dims ? w->shape[w->fortran ? w->dims - 1 : 0] : 1;
    int same[STORE_DIMS], equal = 1; /* colours come first here, and last in what is read */
    for (int i = 0; i < STORE_DIMS; i++)
        same[i] = !w->colours ? i : i ? i - 1 : w->dims - 1;
    TRY(store_open(w->made, &made));
    enum err e = store_find(made, NULL, &b);
    /* A page of one plane has no first dimension. */
    const int flat = !e && b->dims == w->dims - 1 && w->dims && w->shape[0] == 1;
    for (int i = 0; !e && i < b->dims && b->dims == w->dims - flat; i++)
        equal &= b->shape[same[i]] == w->shape[i + flat];
    if (!e && (b->dims != w->dims - flat || !equal))
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

/* In NIfTI x comes first; arrays that end in x are turned round. */
static enum err convert_set_dimensions(struct writer *w, const struct store_array *a, int fortran)
{
    const int turn =
        fortran && a->dims > 1 && a->axis[a->dims - 1] && !strcmp(a->axis[a->dims - 1], "x");
    w->dims = a->dims;
    w->colours = fortran && a->nifti && !w->options->order_dims && a->dims == a->nifti->dims + 1 &&
                 w->type.kind == 'u' && w->type.bytes == 1;
    for (int i = 0; i < a->dims; i++)
        w->from[i] = w->colours ? (i ? i - 1 : a->dims - 1) : turn ? a->dims - 1 - i : i;
    if (w->options->order_dims)
        TRY(writer_order(w->options, a->dims, w->from));
    for (int i = 0; i < a->dims; i++)
        w->shape[i] = a->shape[w->from[i]];
    return ERR_OK;
}

/* Scaled values of up to 16 bits are float32 unless --dtype says otherwise, wider ones float64. */
static enum err convert_set_scale(struct writer *w, const char *in)
{
    const struct store_array *a = w->source;
    if (!w->options->scale || (a->slope == 1 && a->intercept == 0))
        return ERR_OK;
    FAIL_IF(a->dtype.kind == 'c', ERR_UNSUPPORTED,
            "%s: `apply_scale`: %s holds complex numbers; integers and floats can be scaled", in,
            a->name);
    w->scale = 1;
    const int narrow = a->dtype.bytes <= 2 || (a->dtype.kind == 'f' && a->dtype.bytes == 4);
    if (!w->options->type.bytes)
        w->type = (struct store_dtype){'f', narrow ? 4 : 8, 0};
    return ERR_OK;
}

static enum err convert_run(struct store *s, struct store_array *a, struct writer *w,
                            const struct writer_format *f, struct writer_result *r)
{
    void *slab = NULL, *other = NULL;
    TRY(writer_require_space(s, a, w->path, store_bytes(a, w->type.bytes),
                             f->compresses && !w->options->raw));
    TRY(f->begin(w));
    const int64_t bytes = writer_slab_bytes(w), fits = SLAB_BYTES / bytes;
    if (!f->in_chunks && w->step < fits)
        w->step = fits;
    const int64_t room = bytes / w->type.bytes * (w->scale ? 8 : w->type.bytes);
    enum err e = mem_alloc("a slab", (size_t)(room * w->step), &slab);
    if (!e)
        e = mem_alloc("a slab", (size_t)(bytes * w->step), &other);
    if (!e)
        e = convert_write(s, a, w, f, slab);
    e = f->finish(w, e);
    if (!e && w->made[0])
        e = convert_compare(s, a, w, slab, other);
    mem_free(slab);
    mem_free(other);
    progress_end();
    r->bytes = store_bytes(a, w->type.bytes);
    return e;
}

enum err store_convert(const char *in, const char *out, const struct writer_options *o,
                       struct writer_result *result)
{
    const struct writer_format *f = format_of(out);
    struct store *s;
    struct store_array *a;
    *result = (struct writer_result){.bytes = 0};
    if (text_has_suffix(out, ".json"))
        return store_references(in, out, o, result);
    FAIL_IF(!f, ERR_USAGE,
            "%s: the name must end in .npy, .nii, .nii.gz, .tif, .h5, .zarr, .mrc, .nrrd, .mha or "
            ".json "
            "(references)",
            out);
    TRY(store_open(in, &s));
    struct writer w = {.path = out, .options = o, .fortran = f->fortran, .step = 1};
    enum err e = store_find(s, o->array, &a);
    if (!e) {
        w.source = a;
        w.type = o->type.bytes ? o->type : a->dtype;
        w.type.swap = 0;
        e = convert_set_scale(&w, in);
    }
    if (!e)
        e = convert_set_dimensions(&w, a, f->fortran);
    if (!e && !engine_converts(a->dtype, w.type))
        e = FAIL(ERR_UNSUPPORTED, "%s: %s cannot be converted to that type", in, a->name);
    if (!e) {
        writer_lost(s, &w, f);
        e = convert_run(s, a, &w, f, result);
    }
    if (w.file.stream || w.file.path) {
        e = e ? e : outfile_commit(&w.file);
        outfile_abort(&w.file);
    } else if (f == &write_zarr && w.made[0]) {
        const enum err ended = outdir_end(w.made, e ? NULL : out);
        e = e ? e : ended;
    }
    free(w.state);
    store_close(s);
    return e;
}
