/* Arrays as NIfTI-1, or -2 where a dimension needs it: x fastest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/format/bgzf.h"
#include "host/store/format/nifti.h"
#include "host/store/writer/bricks.h"

static int nifti_code(struct store_dtype t)
{
    static const struct {
        char kind;
        int bytes, code;
    } rows[] = {{'u', 1, 2},    {'b', 1, 2},    {'i', 2, 4},    {'i', 4, 8},   {'f', 4, 16},
                {'c', 8, 32},   {'f', 8, 64},   {'i', 1, 256},  {'u', 2, 512}, {'u', 4, 768},
                {'i', 8, 1024}, {'u', 8, 1280}, {'c', 16, 1792}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == t.kind && rows[i].bytes == t.bytes)
            return rows[i].code;
    return 0;
}

static void nifti_put(unsigned char *at, int64_t v, int bytes)
{
    memcpy(at, &v, (size_t)bytes); /* little-endian */
}

static void nifti_put_number(unsigned char *at, double v, int bytes)
{
    const float narrow = (float)v;
    if (bytes == 4)
        memcpy(at, &narrow, 4);
    else
        memcpy(at, &v, 8);
}

/* Takes the header of a source; of other formats, what is known of an array. */
static struct nifti_details nifti_details_of(const struct writer *w)
{
    const struct store_array *a = w->source;
    struct nifti_details d = {.pixdim = {1, 1, 1, 1, 1, 1, 1, 1}};
    if (a->nifti) {
        d = a->nifti->details;
        nifti_reorder(&d, w->dims - w->colours, w->from + w->colours);
    } else {
        int places = 0, known = 1;
        for (int i = 0; i < w->dims && i < 7; i++) {
            const double step = a->spacing[w->from[i]];
            const int code = nifti_unit_code(a->unit[w->from[i]]);
            d.pixdim[i + 1] = step > 0 ? step : 1;
            if (i < 3 && step > 0) {
                known &= code > 0 && code < 8 && (!places || places == code);
                places = code;
            } else if (i == 3 && code >= 8) {
                d.units |= code;
            }
        }
        d.units |= known ? places : 0; /* one unit is for x, y and z */
        const int scaled = a->slope != 1 || a->intercept != 0;
        d.slope = scaled ? a->slope : 0;
        d.intercept = scaled ? a->intercept : 0;
    }
    if (w->scale) {
        d.slope = 1;
        d.intercept = 0;
    }
    return d;
}

/* state: the level of compression, where there is one. */
static enum err nifti_put_out(struct writer *w, const void *data, size_t bytes)
{
    return w->state ? bgzf_write(&w->file, data, bytes, *(int *)w->state)
                    : outfile_write(&w->file, data, bytes);
}

/* The rest of version 1's 348 bytes or version 2's 540. */
static void nifti_put_sizes(const struct writer *w, int version, int64_t offset,
                            unsigned char *head)
{
    const int dim = version == 2 ? 16 : 40, size = version == 2 ? 8 : 2,
              dims = w->dims - w->colours;
    const int code = !w->colours ? nifti_code(w->type) : w->shape[0] == 3 ? 128 : 2304;
    nifti_put(head, version == 2 ? 540 : 348, 4);
    memcpy(head + (version == 2 ? 4 : 344), version == 2 ? "n+2\0\r\n\x1a\n" : "n+1",
           version == 2 ? 8 : 4);
    nifti_put(head + dim, dims, size);
    for (int i = 1; i < 8; i++)
        nifti_put(head + dim + size * i, i <= dims ? w->shape[i - 1 + w->colours] : 1, size);
    nifti_put(head + (version == 2 ? 12 : 70), code, 2);
    nifti_put(head + (version == 2 ? 14 : 72), w->type.bytes * 8 * (w->colours ? w->shape[0] : 1),
              2);
    if (version == 2)
        nifti_put(head + 168, offset, 8);
    else
        nifti_put_number(head + 108, (double)offset, 4);
}

static enum err nifti_begin(struct writer *w)
{
    static const unsigned char zeros[16];
    unsigned char head[544] = {0};
    int version = w->source->nifti ? w->source->nifti->version : 1;
    for (int i = 0; i < w->dims; i++)
        version = w->shape[i] > 32767 ? 2 : version;
    FAIL_IF(w->dims < 1 || w->dims - w->colours > 7, ERR_UNSUPPORTED,
            "%s: the array has %d dimensions; NIfTI has 1 to 7", w->path, w->dims);
    FAIL_IF(!nifti_code(w->type), ERR_UNSUPPORTED,
            "%s: NIfTI has no type for it; add `dtype=float32`", w->path);
    const struct nifti_details d = nifti_details_of(w);
    const int64_t bytes = version == 2 ? 544 : 352, gap = -d.extensions_bytes & 15;
    w->at = bytes + d.extensions_bytes + gap;
    nifti_details_write(&d, version, head);
    nifti_put_sizes(w, version, w->at, head);
    head[bytes - 4] = d.extensions_bytes > 0;
    TRY(outfile_open(&w->file, w->path));
    snprintf(w->made, sizeof w->made, "%s", w->file.temporary ? w->file.temporary : "");
    TRY(nifti_put_out(w, head, (size_t)bytes));
    if (d.extensions_bytes)
        TRY(nifti_put_out(w, d.extensions, (size_t)d.extensions_bytes));
    return nifti_put_out(w, zeros, (size_t)gap);
}

static enum err begin_gz(struct writer *w)
{
    int level, *kept = malloc(sizeof *kept);
    w->state = kept;
    FAIL_IF(!kept, ERR_MEMORY, "%s: no memory left to write", w->path);
    TRY(writer_deflate_level(w, 1, &level)); /* as nibabel; 3 takes 1.4 times as long for 3 % */
    FAIL_IF(!level, ERR_USAGE, "`codec=raw`: %s is compressed; take a name that ends in .nii",
            w->path);
    *kept = level;
    return nifti_begin(w);
}

static enum err nifti_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    int64_t bytes = w->type.bytes * count;
    (void)first;
    for (int i = 0; i + 1 < w->dims; i++)
        bytes *= w->shape[i];
    return nifti_put_out(w, data, (size_t)bytes);
}

static enum err nifti_finish(struct writer *w, enum err e)
{
    if (!e && w->state)
        e = bgzf_end(&w->file);
    return e ? e : outfile_flush(&w->file);
}

const struct writer_format write_nifti = {.suffix = ".nii",
                                          .keeps = KEEPS_SPACING | KEEPS_SCALE | KEEPS_HEADER,
                                          .fortran = 1,
                                          .begin = nifti_begin,
                                          .slab = nifti_slab,
                                          .put = writer_put,
                                          .finish = nifti_finish};
const struct writer_format write_nifti_gz = {.suffix = ".nii.gz",
                                             .compresses = 1,
                                             .keeps = KEEPS_SPACING | KEEPS_SCALE | KEEPS_HEADER,
                                             .fortran = 1,
                                             .begin = begin_gz,
                                             .slab = nifti_slab,
                                             .finish = nifti_finish};
