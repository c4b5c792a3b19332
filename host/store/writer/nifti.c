/* Arrays as NIfTI-1, or -2 where a dimension needs it: x fastest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/format/bgzf.h"
#include "host/store/writer/writer.h"

static int code_of(struct store_dtype t)
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

static void put(unsigned char *at, int64_t v, int bytes)
{
    memcpy(at, &v, (size_t)bytes); /* little-endian */
}

static void put_number(unsigned char *at, double v, int bytes)
{
    const float narrow = (float)v;
    if (bytes == 4)
        memcpy(at, &narrow, 4);
    else
        memcpy(at, &v, 8);
}

static double spacing_of(const struct writer *w, int i)
{
    const double s = w->source->spacing[w->from[i]];
    return s > 0 ? s : 1;
}

/* state: the level of compression, where there is one. */
static enum err put_out(struct writer *w, const void *data, size_t bytes)
{
    return w->state ? bgzf_write(&w->file, data, bytes, *(int *)w->state)
                    : outfile_write(&w->file, data, bytes);
}

static enum err begin(struct writer *w)
{
    unsigned char head[544] = {0};
    int large = 0;
    for (int i = 0; i < w->dims; i++)
        large |= w->shape[i] > 32767;
    const int dim = large ? 16 : 40, size = large ? 8 : 2, real = large ? 8 : 4,
              pixdim = large ? 104 : 76, bytes = large ? 544 : 352;
    FAIL_IF(w->dims < 1 || w->dims > 7, ERR_UNSUPPORTED,
            "%s: the array has %d dimensions; NIfTI has 1 to 7", w->path, w->dims);
    FAIL_IF(!code_of(w->type), ERR_UNSUPPORTED, "%s: NIfTI has no type for it; add --dtype float32",
            w->path);
    put(head, large ? 540 : 348, 4);
    memcpy(head + (large ? 4 : 344), large ? "n+2\0\r\n\x1a\n" : "n+1", large ? 8 : 4);
    put(head + dim, w->dims, size);
    for (int i = 1; i < 8; i++) {
        put(head + dim + size * i, i <= w->dims ? w->shape[i - 1] : 1, size);
        put_number(head + pixdim + real * i, i <= w->dims ? spacing_of(w, i - 1) : 1, real);
    }
    put_number(head + pixdim, 1, real);
    put(head + (large ? 12 : 70), code_of(w->type), 2);
    put(head + (large ? 14 : 72), w->type.bytes * 8, 2);
    if (large)
        put(head + 168, bytes, 8);
    else
        put_number(head + 108, bytes, 4);
    const int scaled = w->source->slope != 1 || w->source->intercept != 0;
    put_number(head + (large ? 176 : 112), scaled ? w->source->slope : 0, real);
    put_number(head + (large ? 184 : 116), scaled ? w->source->intercept : 0, real);
    head[large ? 500 : 123] = 2; /* mm */
    TRY(outfile_open(&w->file, w->path));
    snprintf(w->made, sizeof w->made, "%s", w->file.temporary ? w->file.temporary : "");
    return put_out(w, head, (size_t)bytes);
}

static enum err begin_gz(struct writer *w)
{
    int level, *kept = malloc(sizeof *kept);
    w->state = kept;
    FAIL_IF(!kept, ERR_MEMORY, "%s: no memory left to write", w->path);
    TRY(writer_deflate_level(w, 1, &level)); /* as nibabel; 3 takes 1.4 times as long for 3 % */
    FAIL_IF(!level, ERR_USAGE, "--codec raw: %s is compressed; take a name that ends in .nii",
            w->path);
    *kept = level;
    return begin(w);
}

static enum err slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    int64_t bytes = w->type.bytes * count;
    (void)first;
    for (int i = 0; i + 1 < w->dims; i++)
        bytes *= w->shape[i];
    return put_out(w, data, (size_t)bytes);
}

static enum err finish(struct writer *w, enum err e)
{
    if (!e && w->state)
        e = bgzf_end(&w->file);
    if (!e && fflush(w->file.stream))
        e = FAIL(ERR_IO, "%s: writing failed", w->path);
    return e;
}

const struct writer_format write_nifti = {
    .suffix = ".nii", .fortran = 1, .begin = begin, .slab = slab, .finish = finish};
const struct writer_format write_nifti_gz = {
    .suffix = ".nii.gz", .fortran = 1, .begin = begin_gz, .slab = slab, .finish = finish};
