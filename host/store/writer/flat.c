/* Arrays as MRC, NRRD and MetaImage: a header, then slabs as they come. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/store/writer/bricks.h"

#define HEAD_MOST 4096

struct flat_type {
    char kind;
    int bytes;
    const char *name; /* MRC: the number of its mode */
};

static const struct flat_type mrc_types[] = {{'i', 1, "0"}, {'i', 2, "1"}, {'f', 4, "2"},
                                             {'c', 8, "4"}, {'u', 2, "6"}, {'f', 2, "12"}};
static const struct flat_type nrrd_types[] = {
    {'i', 1, "int8"},   {'u', 1, "uint8"}, {'b', 1, "uint8"},  {'i', 2, "int16"},
    {'u', 2, "uint16"}, {'i', 4, "int32"}, {'u', 4, "uint32"}, {'i', 8, "int64"},
    {'u', 8, "uint64"}, {'f', 4, "float"}, {'f', 8, "double"}};
static const struct flat_type metaimage_types[] = {
    {'i', 1, "MET_CHAR"},  {'u', 1, "MET_UCHAR"},     {'b', 1, "MET_UCHAR"},
    {'i', 2, "MET_SHORT"}, {'u', 2, "MET_USHORT"},    {'i', 4, "MET_INT"},
    {'u', 4, "MET_UINT"},  {'i', 8, "MET_LONG_LONG"}, {'u', 8, "MET_ULONG_LONG"},
    {'f', 4, "MET_FLOAT"}, {'f', 8, "MET_DOUBLE"}};

#define TYPE_OF(w, types) flat_type((w)->type, types, sizeof types / sizeof *types)

static const char *flat_type(struct store_dtype t, const struct flat_type *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (types[i].kind == t.kind && types[i].bytes == t.bytes)
            return types[i].name;
    return NULL;
}

/* The spacing of a dimension of the target, in units of so many metres; 0: unknown. */
static double flat_spacing(const struct writer *w, int d, double metre)
{
    static const struct {
        const char *name;
        double metres;
    } units[] = {
        {"angstrom", 1e-10}, {"nm", 1e-9}, {"nanometer", 1e-9},  {"um", 1e-6}, {"micrometer", 1e-6},
        {"\xc2\xb5m", 1e-6}, {"mm", 1e-3}, {"millimeter", 1e-3}, {"m", 1},     {"meter", 1}};
    const struct store_array *a = w->source;
    const char *unit = a->unit[w->from[d]];
    const double step = a->spacing[w->from[d]];
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name))
            return step > 0 ? step * units[i].metres / metre : 0;
    return step > 0 ? step : 0; /* of no unit, or another one: as it is */
}

static enum err flat_open(struct writer *w, const void *head, size_t n)
{
    w->at = (int64_t)n;
    TRY(outfile_open(&w->file, w->path));
    snprintf(w->made, sizeof w->made, "%s", w->file.temporary ? w->file.temporary : "");
    return outfile_write(&w->file, head, n);
}

static enum err flat_require(const struct writer *w, const char *type, const char *format,
                             const char *narrower)
{
    FAIL_IF(w->options->has_codec && !w->options->raw, ERR_USAGE,
            "`codec`: %s is written uncompressed; leave it out", w->path);
    FAIL_IF(!type, ERR_UNSUPPORTED, "%s: %s has no type for it; add `dtype=%s`", w->path, format,
            narrower);
    return ERR_OK;
}

/* ---- MRC2014 ---- */

static void mrc_put(unsigned char *head, int at, int64_t v)
{
    const int32_t narrow = (int32_t)v;
    memcpy(head + at, &narrow, sizeof narrow);
}

static void mrc_put_real(unsigned char *head, int at, double v)
{
    const float narrow = (float)v;
    memcpy(head + at, &narrow, sizeof narrow);
}

static enum err mrc_begin(struct writer *w)
{
    unsigned char head[1024] = {0};
    const char *mode = TYPE_OF(w, mrc_types);
    TRY(flat_require(w, mode, "MRC", "float32"));
    FAIL_IF(w->dims != 3, ERR_UNSUPPORTED,
            "%s: the array has %d dimensions; MRC has 3. Take a name that ends in .nrrd", w->path,
            w->dims);
    for (int i = 0; i < 3; i++) { /* columns, rows, sections */
        const int64_t n = w->shape[2 - i];
        FAIL_IF(n > INT32_MAX, ERR_UNSUPPORTED, "%s: dimension %d has %lld elements; MRC has %d",
                w->path, 2 - i, (long long)n, INT32_MAX);
        mrc_put(head, 4 * i, n);
        mrc_put(head, 28 + 4 * i, n);
        mrc_put_real(head, 40 + 4 * i, (double)n * flat_spacing(w, 2 - i, 1e-10));
        mrc_put_real(head, 52 + 4 * i, 90); /* angles of the cell */
        mrc_put(head, 64 + 4 * i, i + 1);   /* axes */
    }
    mrc_put(head, 12, mode[1] ? 12 : *mode - '0');
    mrc_put_real(head, 80,
                 -1); /* the largest value below the smallest, and the next two: not computed */
    mrc_put_real(head, 84, -2);
    mrc_put_real(head, 216, -1);
    mrc_put(head, 88, 1); /* a volume */
    mrc_put(head, 108, 20140);
    memcpy(head + 208, "MAP DD", 6); /* little-endian */
    return flat_open(w, head, sizeof head);
}

/* ---- lines of text ---- */

struct flat_text {
    char text[HEAD_MOST];
    int n;
};

static void __attribute__((format(printf, 2, 3)))
flat_line(struct flat_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += vsnprintf(t->text + t->n, sizeof t->text - (size_t)t->n, format, args);
    va_end(args);
}

static int flat_has_spacing(const struct writer *w)
{
    int known = 0;
    for (int i = 0; i < w->dims; i++)
        known |= w->source->spacing[w->from[i]] > 0;
    return known;
}

/* The first dimension is the fastest, as pynrrd has it. */
static enum err nrrd_begin(struct writer *w)
{
    struct flat_text t = {.n = 0};
    const char *type = TYPE_OF(w, nrrd_types);
    TRY(flat_require(w, type, "NRRD", "float32"));
    FAIL_IF(w->dims < 1, ERR_UNSUPPORTED,
            "%s: a single number has no dimension; NRRD has one or "
            "more",
            w->path);
    flat_line(&t, "NRRD0004\ntype: %s\ndimension: %d\nsizes:", type, w->dims);
    for (int i = 0; i < w->dims; i++)
        flat_line(&t, " %lld", (long long)w->shape[i]);
    if (flat_has_spacing(w)) {
        flat_line(&t, "\nspacings:");
        for (int i = 0; i < w->dims; i++) {
            const double step = flat_spacing(w, i, 1e-3);
            if (step > 0)
                flat_line(&t, " %.17g", step);
            else
                flat_line(&t, " nan");
        }
    }
    flat_line(&t, "\nendian: little\nencoding: raw\n\n");
    return flat_open(w, t.text, (size_t)t.n);
}

static enum err metaimage_begin(struct writer *w)
{
    struct flat_text t = {.n = 0};
    const char *type = TYPE_OF(w, metaimage_types);
    TRY(flat_require(w, type, "MetaImage", "float32"));
    FAIL_IF(w->dims < 1, ERR_UNSUPPORTED,
            "%s: a single number has no dimension; MetaImage has one or more", w->path);
    flat_line(&t,
              "ObjectType = Image\nNDims = %d\nBinaryData = True\nBinaryDataByteOrderMSB = "
              "False\nCompressedData = False\n",
              w->dims);
    if (flat_has_spacing(w)) {
        flat_line(&t, "ElementSpacing =");
        for (int i = w->dims - 1; i >= 0; i--) {
            const double step = flat_spacing(w, i, 1e-3);
            flat_line(&t, " %.17g", step > 0 ? step : 1);
        }
        flat_line(&t, "\n");
    }
    flat_line(&t, "DimSize =");
    for (int i = w->dims - 1; i >= 0; i--)
        flat_line(&t, " %lld", (long long)w->shape[i]);
    flat_line(&t, "\nElementType = %s\nElementDataFile = LOCAL\n", type);
    return flat_open(w, t.text, (size_t)t.n);
}

static enum err flat_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    int64_t bytes = w->type.bytes * count;
    (void)first;
    for (int i = !w->fortran; i < w->dims - w->fortran; i++)
        bytes *= w->shape[i];
    return outfile_write(&w->file, data, (size_t)bytes);
}

static enum err flat_finish(struct writer *w, enum err e)
{
    return e ? e : outfile_flush(&w->file);
}

#define FLAT_WRITER(which, end, turned)                                                            \
    const struct writer_format write_##which = {.suffix = end,                                     \
                                                .keeps = KEEPS_SPACING,                            \
                                                .fortran = turned,                                 \
                                                .begin = which##_begin,                            \
                                                .slab = flat_slab,                                 \
                                                .put = writer_put,                                 \
                                                .finish = flat_finish}

FLAT_WRITER(mrc, ".mrc", 0);
FLAT_WRITER(nrrd, ".nrrd", 1);
FLAT_WRITER(metaimage, ".mha", 0);
