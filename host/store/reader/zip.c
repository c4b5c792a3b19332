/* ZIP archives that hold arrays: NumPy's .npz, and Zarr stores (.zarr.zip). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/text.h"
#include "host/store/container/zip.h"
#include "host/store/format/npy.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"
#include "host/store/reader/zarr.h"

#define NPY_HEAD    65536
#define TEXT_MOST   ((int64_t)16 << 20)
#define ARRAYS_MOST 4096

struct zip_store {
    struct zip zip;
    struct zarr_keys keys;
    const char *root; /* of the Zarr store in the archive: "" or "name/" */
};

static int zip_knows(const struct reader_file *f)
{
    return f->head_bytes >= 22 && (!memcmp(f->head, "PK\3\4", 4) || !memcmp(f->head, "PK\5\6", 4));
}

static void close_zip(struct store *s)
{
    zip_free(&((struct zip_store *)s->reader)->zip);
}

/* ---- .npz ---- */

/* A deflated member is one chunk, whose first bytes are its header. */
static enum err npz_deflated(struct store *s, struct store_array *a, const struct zip *z,
                             const struct zip_member *m, int64_t at, int64_t header)
{
    a->pipelines_count = 1;
    a->pipelines[0] = (struct codec_pipeline){1, {{.codec = CODEC_DEFLATE}}};
    memcpy(a->chunk, a->shape, sizeof a->chunk);
    TRY(store_array_check(s, a));
    TRY(store_chunks_room(s, a));
    FAIL_IF(store_elements(a) * a->dtype.bytes != m->bytes - header, ERR_INPUT,
            "%s: %s has another length than its header says", s->name, m->name);
    return store_chunk_set(
        s, a, 0,
        (struct store_chunk){
            .object = z->object, .offset = at, .stored = m->stored, .skip = header});
}

static enum err npz_add(struct store *s, const struct zip *z, const struct zip_member *m,
                        unsigned char *head)
{
    struct npy_header h;
    struct store_array *a;
    char name[512];
    size_t got;
    int64_t at;
    snprintf(name, sizeof name, "%.*s", (int)(strlen(m->name) - 4), m->name);
    TRY(zip_place(s, z, m, &at));
    TRY(zip_head(s, z, m, head, NPY_HEAD, &got));
    const enum err e = npy_parse(m->name, head, got, &h);
    if (e)
        return store_unreadable_add(s, name, -1, "%s", err_text());
    TRY(store_array_add(s, name, &a));
    if (!store_dtype_parse(h.dtype, &a->dtype)) {
        s->arrays_count--;
        return store_unreadable_add(s, name, 0, "its type is '%s'; numbers are read", h.dtype);
    }
    a->dims = h.dims;
    memcpy(a->shape, h.shape, sizeof a->shape);
    for (int i = 0; i < a->dims && h.fortran; i++)
        a->order[i] = a->dims - 1 - i;
    if (m->method == ZIP_DEFLATED)
        return npz_deflated(s, a, z, m, at, h.data_offset);
    FAIL_IF(store_elements(a) > (m->bytes - h.data_offset) / a->dtype.bytes, ERR_INPUT,
            "%s: %s is shorter than its header says", s->name, m->name);
    return store_contiguous(s, a, z->object, at + h.data_offset);
}

static int npz_by_size(const void *x, const void *y)
{
    const struct store_array *a = *(struct store_array *const *)x,
                             *b = *(struct store_array *const *)y;
    const int64_t m = store_bytes(a, a->dtype.bytes), n = store_bytes(b, b->dtype.bytes);
    return m != n ? (m > n ? -1 : 1) : strcmp(a->name, b->name);
}

static enum err npz_fill(struct store *s, const struct zip *z)
{
    unsigned char *head = malloc(NPY_HEAD + 1);
    FAIL_IF(!head, ERR_MEMORY, "%s: no memory left", s->name);
    enum err e = ERR_OK;
    for (size_t i = 0; i < z->count && !e && s->arrays_count < ARRAYS_MOST; i++)
        if (text_ends(z->members[i].name, ".npy") && strlen(z->members[i].name) < 500)
            e = npz_add(s, z, &z->members[i], head);
    free(head);
    if (!e)
        array_sort(s->arrays, (size_t)s->arrays_count, sizeof *s->arrays, npz_by_size);
    return e;
}

/* ---- Zarr ---- */

static const struct zip_member *zip_member_of(const void *state, const char *key)
{
    const struct zip_store *x = state;
    char name[8192];
    snprintf(name, sizeof name, "%s%s", x->root, key);
    return zip_find(&x->zip, name);
}

static enum err zip_text(struct store *s, void *state, const char *key, char **out)
{
    const struct zip_member *m = zip_member_of(state, key);
    size_t got;
    *out = NULL;
    if (!m)
        return ERR_OK;
    FAIL_IF(m->bytes > TEXT_MOST, ERR_INPUT, "%s: %s has %lld bytes; %lld are the most", s->name,
            m->name, (long long)m->bytes, (long long)TEXT_MOST);
    char *text = calloc(1, (size_t)m->bytes + 1);
    FAIL_IF(!text, ERR_MEMORY, "%s: no memory left", s->name);
    const enum err e =
        zip_head(s, &((struct zip_store *)state)->zip, m, text, (size_t)m->bytes, &got);
    if (e)
        free(text);
    else
        *out = text;
    return e;
}

static enum err zip_key_place(struct store *s, void *state, const char *key,
                              struct store_chunk *out)
{
    const struct zip_member *m = zip_member_of(state, key);
    const struct zip *z = &((struct zip_store *)state)->zip;
    if (!m)
        return ERR_OK;
    FAIL_IF(
        m->method != ZIP_STORED && m->method != ZIP_DEFLATED, ERR_UNSUPPORTED,
        "%s: %s is compressed by method %d of ZIP; deflate and none are read. Write it again with "
        "zip -0",
        s->name, m->name, m->method);
    out->object = z->object;
    out->pipeline = m->method == ZIP_DEFLATED ? ZARR_DEFLATED : 0;
    out->stored = m->stored;
    return zip_place(s, z, m, &out->offset);
}

static int is_metadata(const char *name)
{
    static const char *const names[] = {".zarray", ".zgroup", "zarr.json"};
    for (int i = 0; i < 3; i++) {
        const size_t n = strlen(name), end = strlen(names[i]);
        if (text_ends(name, names[i]) && (n == end || name[n - end - 1] == '/'))
            return 1;
    }
    return 0;
}

/* Folder of a member: "" or with a / at its end. */
static void folder_of(const char *name, char out[1024])
{
    const char *slash = strrchr(name, '/');
    snprintf(out, 1024, "%.*s", slash ? (int)(slash - name + 1) : 0, name);
}

/* Archives of a folder have its name before all others. */
static const char *zarr_root(struct store *s, const struct zip *z)
{
    char folder[1024], best[1024] = "";
    int found = 0;
    for (size_t i = 0; i < z->count; i++)
        if (is_metadata(z->members[i].name) && strlen(z->members[i].name) < sizeof folder) {
            folder_of(z->members[i].name, folder);
            if (!found++ || strlen(folder) < strlen(best))
                memcpy(best, folder, sizeof best);
        }
    return found ? store_text(s, best) : NULL;
}

static enum err zip_zarr_fill(struct store *s, struct zip_store *x)
{
    char folder[1024];
    const size_t n = strlen(x->root);
    int found;
    enum err e = ERR_OK;
    x->keys = (struct zarr_keys){x, zip_text, zip_key_place};
    for (size_t i = 0; i < x->zip.count && !e && s->arrays_count < ARRAYS_MOST; i++) {
        const char *name = x->zip.members[i].name;
        if (!is_metadata(name) || strlen(name) >= sizeof folder || strncmp(name, x->root, n) != 0)
            continue;
        folder_of(name + n, folder);
        if (text_ends(name, ".zarray") || text_ends(name, "zarr.json"))
            e = zarr_add(s, &x->keys, folder, &found);
    }
    return e ? e : zarr_multiscales(s, &x->keys, "");
}

static enum err zip_fill(struct store *s, const struct reader_file *f)
{
    struct zip_store *x = arena_take(s->arena, sizeof *x);
    int32_t object;
    FAIL_IF(!x, ERR_MEMORY, "%s: no memory left", f->path);
    s->reader = x;
    s->close = close_zip;
    TRY(store_object_add(s, NULL, f->path, &object));
    TRY(zip_read(s, object, &x->zip));
    x->root = zarr_root(s, &x->zip);
    if (!x->root)
        return npz_fill(s, &x->zip);
    s->format = zip_member_of(x, "zarr.json") ? "Zarr 3" : "Zarr 2";
    return zip_zarr_fill(s, x);
}

static enum err zip_open(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, "NumPy archive", out));
    const enum err e = zip_fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

const struct reader reader_zip = {"NumPy archive", ".npz, .zarr.zip", zip_knows, zip_open};
