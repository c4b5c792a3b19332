/* A header and an array in one piece: NumPy, MRC, NRRD, MetaImage. */
#include <string.h>

#include "base/text.h"
#include "host/store/format/flat.h"
#include "host/store/format/npy.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"

static int npy_knows(const struct reader_file *f)
{
    return f->head_bytes >= 6 && !memcmp(f->head, "\x93NUMPY", 6);
}

static enum err npy_fill(struct store *s, const struct reader_file *f)
{
    struct npy_header h;
    struct store_array *a;
    int32_t object;
    TRY(npy_parse(f->path, f->head, f->head_bytes, &h));
    TRY(store_array_add(s, "data", &a));
    FAIL_IF(!store_dtype_parse(h.dtype, &a->dtype), ERR_INPUT,
            "%s: dtype is '%s'; numbers are expected. Convert it with numpy.astype", f->path,
            h.dtype);
    a->dims = h.dims;
    memcpy(a->shape, h.shape, sizeof a->shape);
    for (int i = 0; i < a->dims && h.fortran; i++)
        a->order[i] = a->dims - 1 - i;
    TRY(store_object_add(s, NULL, f->path, &object));
    return store_contiguous(s, a, object, h.data_offset);
}

static int mrc_knows(const struct reader_file *f)
{
    return mrc_is(f->head, f->head_bytes);
}

static int nrrd_knows(const struct reader_file *f)
{
    return nrrd_is(f->head, f->head_bytes);
}

static int metaimage_knows(const struct reader_file *f)
{
    return metaimage_is(f->head, f->head_bytes);
}

/* Dimensions as the format's own library has them: the slowest first (mrcfile, SimpleITK), or the
 * fastest first (pynrrd). */
static void flat_shape(const struct flat_header *h, int fastest_first, const char *unit,
                       struct store_array *a)
{
    static const char *const axes[] = {"x", "y", "z", "t"};
    a->dims = h->dims;
    for (int i = 0; i < h->dims; i++) {
        const int d = fastest_first ? i : h->dims - 1 - i, axis = i - h->channels;
        a->shape[d] = h->shape[i];
        a->spacing[d] = h->spacing[i];
        if (unit)
            a->axis[d] = axis < 0 ? "c" : axis < 4 ? axes[axis] : NULL;
        if (unit && h->spacing[i] > 0)
            a->unit[d] = unit;
        if (fastest_first)
            a->order[i] = h->dims - 1 - i;
    }
}

/* Compressed data are one chunk: they begin at `offset` and end with their file. */
static enum err flat_packed(struct store *s, struct store_array *a, const struct flat_header *h,
                            int32_t object)
{
    int64_t bytes;
    TRY(store_object_bytes(s, object, &bytes));
    FAIL_IF(h->offset >= bytes, ERR_INPUT, "%s: its data are missing", s->name);
    a->pipelines_count = 1;
    a->pipelines[0] = (struct codec_pipeline){
        1, {{.codec = h->coding == FLAT_GZIP ? CODEC_GZIP_PART : CODEC_ZLIB}}};
    memcpy(a->chunk, a->shape, sizeof a->chunk);
    TRY(store_array_check(s, a));
    TRY(store_chunks_room(s, a));
    return store_chunk_set(
        s, a, 0,
        (struct store_chunk){.object = object, .offset = h->offset, .stored = bytes - h->offset});
}

/* The last bytes of the file. */
static enum err flat_offset(struct store *s, const struct store_array *a, int32_t object,
                            int64_t *offset)
{
    int64_t bytes, left;
    TRY(store_object_bytes(s, object, &bytes));
    left = bytes / a->dtype.bytes;
    for (int d = 0; d < a->dims; d++)
        left /= a->shape[d];
    FAIL_IF(!left, ERR_INPUT, "%s: has %lld bytes, which are less than its array", s->name,
            (long long)bytes);
    *offset = bytes - store_elements(a) * a->dtype.bytes;
    return ERR_OK;
}

static enum err flat_fill(struct store *s, const struct flat_header *h, int fastest_first,
                          const char *unit)
{
    struct store_array *a;
    int32_t object;
    char folder[4096];
    TRY(store_array_add(s, "data", &a));
    FAIL_IF(!store_dtype_parse(h->dtype, &a->dtype), ERR_INTERNAL, "%s: type %s", s->name,
            h->dtype);
    for (int i = 0; i < h->dims; i++)
        FAIL_IF(h->shape[i] < 1, ERR_INPUT, "%s: dimension %d has %lld elements", s->name, i,
                (long long)h->shape[i]);
    flat_shape(h, fastest_first, unit, a);
    if (*h->file) {
        path_folder(s->name, folder, sizeof folder);
        TRY(store_confine(s, folder));
        TRY(store_object_add(s, folder, h->file, &object));
    } else {
        TRY(store_object_add(s, NULL, s->name, &object));
    }
    if (h->coding != FLAT_RAW)
        return flat_packed(s, a, h, object);
    int64_t offset = h->offset;
    if (offset < 0)
        TRY(flat_offset(s, a, object, &offset));
    return store_contiguous(s, a, object, offset);
}

static enum err mrc_fill(struct store *s, const struct reader_file *f)
{
    struct flat_header h;
    TRY(mrc_parse(f->path, f->head, f->head_bytes, &h));
    return flat_fill(s, &h, 0, "angstrom");
}

static enum err nrrd_fill(struct store *s, const struct reader_file *f)
{
    struct flat_header h;
    TRY(nrrd_parse(f->path, f->head, f->head_bytes, &h));
    return flat_fill(s, &h, 1, NULL);
}

static enum err metaimage_fill(struct store *s, const struct reader_file *f)
{
    struct flat_header h;
    TRY(metaimage_parse(f->path, f->head, f->head_bytes, &h));
    return flat_fill(s, &h, 0, "mm");
}

static enum err flat_open(const struct reader_file *f, const char *format,
                          enum err (*fill)(struct store *s, const struct reader_file *f),
                          struct store **out)
{
    TRY(store_make(f->path, format, out));
    enum err e = fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

#define FLAT_READER(which, format, name)                                                           \
    static enum err which##_open(const struct reader_file *f, struct store **out)                  \
    {                                                                                              \
        return flat_open(f, format, which##_fill, out);                                            \
    }                                                                                              \
    const struct reader reader_##which = {format, name, which##_knows, which##_open};

FLAT_READER(npy, "NumPy array", ".npy")
FLAT_READER(mrc, "MRC", "MRC")
FLAT_READER(nrrd, "NRRD", "NRRD")
FLAT_READER(metaimage, "MetaImage", "MetaImage")
