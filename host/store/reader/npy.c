/* NumPy arrays. */
#include <string.h>

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

static enum err npy_open(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, "NumPy array", out));
    enum err e = npy_fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

const struct reader reader_npy = {"NumPy array", ".npy", npy_knows, npy_open};
