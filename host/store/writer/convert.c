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
#include "host/store/writer/bricks.h"
#include "host/store/writer/outdir.h"
#include "host/store/writer/slabs.h"
#include "host/store/writer/writer.h"

#define SLAB_BYTES ((int64_t)8 << 20) /* larger ones are out of the cache before they are written */

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

/* The sums of the slabs that were written, in their order. */
struct convert_sums {
    uint64_t *of;
    int64_t count;
};

static enum err convert_write(struct writer_slabs *t, const struct writer_format *f,
                              struct convert_sums *sums)
{
    struct writer *w = t->target;
    const int64_t plane = writer_slab_bytes(w);
    int64_t first, count;
    void *data;
    for (;; sums->count++) {
        TRY(slabs_next(t, &first, &count, &data));
        if (!count)
            return ERR_OK;
        progress("writing", (double)first, (double)t->total);
        sums->of[sums->count] = slabs_sum(data, (size_t)(count * plane));
        for (int64_t i = 0, n; i < count; i += n) { /* chunks come in rows */
            n = f->in_chunks && count - i > w->step ? w->step : count - i;
            TRY(f->slab(w, first + i, n, (unsigned char *)data + i * plane));
        }
    }
}

/* Compares what the target's own reader finds by its sums: the source is not decoded again. */
static enum err convert_compare_slabs(struct writer_slabs *t, const struct convert_sums *sums,
                                      const char *source)
{
    const int64_t plane = writer_slab_bytes(t->target);
    int64_t first, count;
    void *data;
    for (int64_t i = 0; i < sums->count; i++) {
        TRY(slabs_next(t, &first, &count, &data));
        progress("comparing", (double)first, (double)t->total);
        FAIL_IF(slabs_sum(data, (size_t)(count * plane)) != sums->of[i], ERR_FAILED,
                "%s: what was written differs from %s; it is removed", t->target->path, source);
    }
    return ERR_OK;
}

/* `bricks` NULL: slabs of `step` planes. */
static enum err convert_compare(struct writer *w, struct bricks *bricks, int64_t step,
                                const struct convert_sums *sums, const char *source)
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
    if (!e && bricks) {
        int from[STORE_DIMS];
        for (int i = 0; i < STORE_DIMS; i++)
            from[i] = same[i] - flat;
        e = bricks_compare(bricks, made, b, from);
    } else if (!e) {
        struct writer_slabs t = {.store = made,
                                 .array = b,
                                 .target = w,
                                 .from = same,
                                 .flat = flat,
                                 .step = step,
                                 .total = total};
        e = slabs_begin(&t);
        e = e ? e : convert_compare_slabs(&t, sums, source);
        slabs_end(&t);
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

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Planes of a slab: whole chunks of the target, and of the source where memory has room for them, so that
 * no chunk is decoded twice. */
static int64_t convert_step(const struct store_array *a, const struct writer *w,
                            const struct writer_format *f, int64_t total)
{
    const int slow = w->fortran ? w->dims - 1 : 0;
    const int64_t bytes = writer_slab_bytes(w), least = f->in_chunks ? w->step : 1,
                  room = (int64_t)(mem_available() / 8);
    int64_t chunk = 1, codecs = 0;
    for (int i = 0; i < a->pipelines_count; i++)
        codecs |= a->pipelines[i].count;
    if (codecs && w->dims && !a->tiles)
        chunk = a->chunk[w->from[slow]] < total ? a->chunk[w->from[slow]] : total;
    const int64_t both = common_multiple(least, chunk),
                  most = room > SLAB_BYTES ? room : SLAB_BYTES,
                  part = both <= most / bytes ? both : least, fits = SLAB_BYTES / bytes / part,
                  step = part * (fits > 0 ? fits : 1);
    return step < total ? step : total;
}

static enum err convert_slabs(struct store *s, struct store_array *a, struct writer *w,
                              const struct writer_format *f)
{
    const int64_t total = w->dims ? w->shape[w->fortran ? w->dims - 1 : 0] : 1,
                  step = convert_step(a, w, f, total);
    struct convert_sums sums = {calloc((size_t)(total / step + 1), sizeof *sums.of), 0};
    struct writer_slabs t = {
        .store = s, .array = a, .target = w, .from = w->from, .step = step, .total = total};
    enum err e =
        sums.of ? slabs_begin(&t) : FAIL(ERR_MEMORY, "%s: no memory left to write", w->path);
    e = e ? e : convert_write(&t, f, &sums);
    slabs_end(&t);
    e = f->finish(w, e);
    if (!e && w->made[0])
        e = convert_compare(w, NULL, step, &sums, s->name);
    free(sums.of);
    progress_end();
    return e;
}

static enum err convert_bricks(struct bricks *b)
{
    enum err e = b->format->finish(b->w, bricks_write(b));
    if (!e)
        e = convert_compare(b->w, b, 0, NULL, b->store->name);
    bricks_free(b);
    progress_end();
    return e;
}

static enum err convert_run(struct store *s, struct store_array *a, struct writer *w,
                            const struct writer_format *f, struct writer_result *r)
{
    TRY(writer_require_space(s, a, w->path, store_bytes(a, w->type.bytes),
                             f->compresses && !w->options->raw));
    TRY(f->begin(w));
    r->bytes = store_bytes(a, w->type.bytes);
    struct bricks b = {.store = s, .array = a, .w = w, .format = f};
    if (!bricks_plan(&b))
        return convert_slabs(s, a, w, f);
    r->encoded = w->encodes;
    return convert_bricks(&b);
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
    if (f->free)
        f->free(&w);
    free(w.state);
    store_close(s);
    return e;
}
