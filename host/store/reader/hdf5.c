/* HDF5: libhdf5 tells types, filters and where chunks lie; the engine reads and decodes them. */
#include <string.h>

#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"

static int knows(const struct reader_file *f)
{
    return f->head_bytes >= 8 && !memcmp(f->head, "\x89HDF\r\n\x1a\n", 8);
}

#ifdef TP_HDF5
#include <stdio.h>
#include <stdlib.h>

#include "host/base/arena.h"
#include "host/store/format/h5.h"
#include "host/store/reader/hdf5_remote.h"

#define ARRAYS_MOST  4096
#define COMPACT_MOST 65536 /* the format's own limit */
#define FILTERS_MOST CODEC_STEPS

struct dataset { /* of an array, until the file is closed */
    hid_t id;
    int filters[FILTERS_MOST], filters_count; /* in the order of writing: codecs */
    struct codec_step steps[FILTERS_MOST];
    unsigned masks[STORE_PIPELINES]; /* filters that the chunks of a pipeline leave out */
};

static int set_type(hid_t type, struct store_dtype *out)
{
    const H5T_class_t class = H5Tget_class(type);
    const size_t bytes = H5Tget_size(type);
    *out = (struct store_dtype){0};
    if (class == H5T_ENUM && bytes == 1) /* h5py's bool */
        out->kind = 'b';
    else if (class == H5T_INTEGER)
        out->kind = H5Tget_sign(type) == H5T_SGN_2 ? 'i' : 'u';
    else if (class == H5T_FLOAT)
        out->kind = 'f';
    if (!out->kind || bytes < 1 || bytes > 8 || (bytes & (bytes - 1)))
        return 0;
    if (class != H5T_ENUM && H5Tget_precision(type) != bytes * 8)
        return 0;
    out->bytes = (unsigned char)bytes;
    out->swap = bytes > 1 && H5Tget_order(type) == H5T_ORDER_BE;
    return 1;
}

/* Options, pixels of a block, bits of a pixel, pixels of a scanline. */
static int set_szip(const unsigned *value, size_t values, struct codec_step *out)
{
    out->level = (int)value[0];
    out->samples = (int)value[1];
    out->item = (int)value[2];
    out->row = (int)value[3];
    return values >= 4 && value[1] <= 32 && value[2] <= 64 && value[3] <= 65536;
}

/* Two versions, bytes of an element, elements of a block (0: the default), 0, 2 (LZ4) or 3 (zstd).
 */
static int set_bitshuffle(const unsigned *value, size_t values, struct codec_step *out)
{
    const unsigned way = values > 4 ? value[4] : 0;
    out->item = (int)value[2];
    out->row = values > 3 ? (int)value[3] : 0;
    out->codec = way == 2   ? CODEC_BITSHUFFLE_LZ4
                 : way == 3 ? CODEC_BITSHUFFLE_ZSTD
                            : CODEC_BITSHUFFLE;
    return values >= 3 && value[2] >= 1 && value[2] <= 64 && (values < 4 || value[3] <= 1 << 24) &&
           (way == 0 || way == 2 || way == 3);
}

/* A filter's codec; 0: not known. */
static int set_filter(int filter, const unsigned *value, size_t values, int item,
                      struct codec_step *out)
{
    static const struct {
        int filter;
        enum codec codec;
    } rows[] = {{1, CODEC_ZLIB},      {2, CODEC_SHUFFLE},        {3, CODEC_FLETCHER32},
                {4, CODEC_SZIP},      {32008, CODEC_BITSHUFFLE}, {32000, CODEC_LZF},
                {32001, CODEC_BLOSC}, {32004, CODEC_LZ4_HDF5},   {32015, CODEC_ZSTD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].filter == filter) {
            *out = (struct codec_step){.codec = rows[i].codec, .item = item};
            if (filter == 2 && values && value[0] >= 1 && value[0] <= 4096)
                out->item = (int)value[0];
            if (filter == 4)
                return set_szip(value, values, out);
            return filter != 32008 || set_bitshuffle(value, values, out);
        }
    return 0;
}

static enum err read_filters(struct store *s, hid_t list, const char *name, int item,
                             struct dataset *d, int *good)
{
    const int n = H5Pget_nfilters(list);
    *good = n >= 0 && n <= FILTERS_MOST;
    if (!*good)
        return store_note_add(s, "unreadable", "%s: it has %d filters", name, n);
    for (int i = 0; i < n; i++) {
        unsigned flags, config, value[32] = {0};
        size_t values = 32;
        char text[64] = "";
        const int filter = (int)H5Pget_filter2(list, (unsigned)i, &flags, &values, value,
                                               sizeof text, text, &config);
        const char *library;
        *good = set_filter(filter, value, values, item, &d->steps[i]);
        if (!*good)
            return store_note_add(s, "unreadable", "%s: its filter %d (%s) is not known", name,
                                  filter, text);
        *good = codec_available(d->steps[i].codec, &library);
        if (!*good)
            return store_note_add(s, "unreadable",
                                  "%s: its filter %s needs %s, which this build lacks: install "
                                  "%s-dev and build again",
                                  name, codec_name(d->steps[i].codec), library, library);
        d->filters_count++;
    }
    return ERR_OK;
}

/* The pipeline of chunks that leave out the filters of `mask`. */
static enum err pipeline_of(struct store *s, struct store_array *a, unsigned mask, int16_t *out)
{
    struct dataset *d = a->reader;
    for (int i = 0; i < a->pipelines_count; i++)
        if (d->masks[i] == mask) {
            *out = (int16_t)i;
            return ERR_OK;
        }
    FAIL_IF(a->pipelines_count == STORE_PIPELINES, ERR_UNSUPPORTED,
            "%s: the chunks of %s leave out filters in more than %d ways", s->name, a->name,
            STORE_PIPELINES);
    struct codec_pipeline *p = &a->pipelines[a->pipelines_count];
    *p = (struct codec_pipeline){0};
    for (int i = d->filters_count - 1; i >= 0; i--)
        if (!(mask >> i & 1))
            p->step[p->count++] = d->steps[i];
    d->masks[a->pipelines_count] = mask;
    *out = (int16_t)a->pipelines_count++;
    return ERR_OK;
}

static enum err index_chunks(struct store *s, struct store_array *a)
{
    const struct dataset *d = a->reader;
    hsize_t at[STORE_DIMS];
    int64_t start[STORE_DIMS], shape[STORE_DIMS];
    TRY(store_chunks_room(s, a));
    for (int64_t n = 0; n < a->chunks_count; n++) {
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        hsize_t bytes = 0;
        struct store_chunk c = {.object = 0};
        store_chunk_box(a, n, start, shape);
        for (int i = 0; i < a->dims; i++)
            at[i] = (hsize_t)start[i];
        FAIL_IF(H5Dget_chunk_info_by_coord(d->id, at, &mask, &address, &bytes) < 0, ERR_INPUT,
                "%s: the index of %s is damaged", s->name, a->name);
        if (address == HADDR_UNDEF)
            continue;
        c.offset = address > INT64_MAX ? -1 : (int64_t)address;
        c.stored = bytes > INT64_MAX ? -1 : (int64_t)bytes;
        TRY(pipeline_of(s, a, mask, &c.pipeline));
        TRY(store_chunk_set(s, a, n, c));
    }
    return ERR_OK;
}

static enum err set_compact(struct store *s, struct store_array *a, hid_t type)
{
    const struct dataset *d = a->reader;
    const int64_t bytes = store_elements(a) * a->dtype.bytes;
    int32_t object;
    FAIL_IF(bytes > COMPACT_MOST, ERR_INPUT, "%s: %s is too large for its layout", s->name,
            a->name);
    void *data = malloc((size_t)bytes + 1);
    FAIL_IF(!data, ERR_MEMORY, "%s: no memory left", s->name);
    enum err e = H5Dread(d->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0
                     ? FAIL(ERR_INPUT, "%s: %s cannot be read", s->name, a->name)
                     : store_memory_add(s, a->name, data, (size_t)bytes, &object);
    free(data);
    return e ? e : store_contiguous(s, a, object, 0);
}

static enum err set_contiguous(struct store *s, struct store_array *a)
{
    const struct dataset *d = a->reader;
    const haddr_t address = H5Dget_offset(d->id);
    if (address != HADDR_UNDEF)
        return store_contiguous(s, a, 0, address > INT64_MAX ? -1 : (int64_t)address);
    memcpy(a->chunk, a->shape, sizeof a->chunk); /* never written */
    a->pipelines_count = 1;
    TRY(store_array_check(s, a));
    return store_chunks_room(s, a);
}

static enum err set_layout(struct store *s, struct store_array *a, hid_t list, hid_t type)
{
    hsize_t chunk[H5S_MAX_RANK] = {0};
    const H5D_layout_t layout = H5Pget_layout(list);
    int16_t unused;
    if (H5Pget_fill_value(list, type, a->fill) < 0)
        memset(a->fill, 0, sizeof a->fill);
    if (layout == H5D_COMPACT)
        return set_compact(s, a, type);
    if (layout == H5D_CONTIGUOUS)
        return set_contiguous(s, a);
    const int dims = H5Pget_chunk(list, STORE_DIMS, chunk);
    FAIL_IF(dims != a->dims, ERR_INPUT, "%s: the chunks of %s have %d dimensions", s->name, a->name,
            dims);
    for (int i = 0; i < a->dims; i++)
        a->chunk[i] = chunk[i] > INT32_MAX ? -1 : (int64_t)chunk[i];
    TRY(pipeline_of(s, a, 0, &unused));
    a->index = index_chunks;
    return store_array_check(s, a);
}

/* NX_class of the group that holds the dataset. */
static void set_group(struct store *s, struct store_array *a)
{
    char path[1024], class[64];
    const char *slash = strrchr(a->name, '/');
    if (!slash || (size_t)(slash - a->name) >= sizeof path)
        return;
    snprintf(path, sizeof path, "%.*s", (int)(slash - a->name), a->name);
    const hid_t group = H5Oopen(*(hid_t *)s->reader, path, H5P_DEFAULT);
    if (group < 0)
        return;
    if (h5_text(group, "NX_class", class, sizeof class))
        a->group = store_text(s, class);
    H5Oclose(group);
}

/* Data Exchange: "theta:y:x". */
static void set_axes(struct store *s, struct store_array *a, hid_t id)
{
    char axes[64], units[32], *rest = axes;
    if (h5_text(id, "units", units, sizeof units))
        a->units = store_text(s, units);
    if (!h5_text(id, "axes", axes, sizeof axes))
        return;
    for (int i = 0; i < a->dims && rest; i++) {
        char *end = strchr(rest, ':');
        if (end)
            *end = 0;
        a->axis[i] = store_text(s, rest);
        rest = end ? end + 1 : NULL;
    }
}

static enum err add_shape(struct store *s, struct store_array *a, hid_t id, int *good)
{
    hsize_t shape[H5S_MAX_RANK] = {0};
    const hid_t space = H5Dget_space(id);
    const int dims = H5Sget_simple_extent_ndims(space);
    *good = dims >= 0 && dims <= STORE_DIMS && H5Sget_simple_extent_type(space) != H5S_NULL &&
            H5Sget_simple_extent_dims(space, shape, NULL) >= 0;
    H5Sclose(space);
    a->dims = dims;
    for (int i = 0; i < dims && *good; i++) {
        *good = shape[i] > 0 && shape[i] < INT64_MAX;
        a->shape[i] = (int64_t)shape[i];
    }
    return *good ? ERR_OK
                 : store_note_add(s, "unreadable",
                                  "%s: it has no elements or more than %d "
                                  "dimensions",
                                  a->name, STORE_DIMS);
}

/* Data in another file could be any file: external and virtual datasets are not read. */
static enum err add_dataset(struct store *s, hid_t id, const char *name)
{
    const hid_t type = H5Dget_type(id), list = H5Dget_create_plist(id);
    struct store_dtype dtype;
    struct store_array *a;
    struct dataset *d = arena_take(s->arena, sizeof *d);
    int good = d && set_type(type, &dtype);
    enum err e = d && !good && H5Tget_class(type) != H5T_STRING
                     ? store_note_add(s, "unreadable", "%s: it does not hold numbers", name)
                     : ERR_OK;
    if (good && (H5Pget_external_count(list) != 0 || H5Pget_layout(list) == H5D_VIRTUAL)) {
        e = store_note_add(s, "unreadable",
                           "%s: its data are in another file; copy them into one "
                           "with h5repack",
                           name);
        good = 0;
    }
    if (good && !e)
        e = read_filters(s, list, name, dtype.bytes, d, &good);
    if (good && !e && !(e = store_array_add(s, name, &a))) {
        a->dtype = dtype;
        a->reader = d;
        d->id = id;
        e = add_shape(s, a, id, &good);
        if (good && !e)
            e = set_layout(s, a, list, type);
        if (good && !e)
            set_axes(s, a, id);
        if (good && !e)
            set_group(s, a);
        if (!good)
            s->arrays_count--;
    }
    H5Tclose(type);
    H5Pclose(list);
    if (e || !good)
        H5Dclose(id);
    if (e && s->arrays_count && s->arrays[s->arrays_count - 1]->reader == d)
        s->arrays_count--;
    return e;
}

struct hdf5_walk {
    struct store *s;
    enum err e;
};

static herr_t refuse_link(const char *parent_file, const char *parent, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *data)
{
    (void)parent_file, (void)parent, (void)file, (void)object, (void)flags, (void)access,
        (void)data;
    return -1;
}

/* Links into other files are not followed, and soft ones only where a Data Exchange scan has them:
 * elsewhere they show an array twice. */
static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    struct hdf5_walk *w = data;
    const int soft = link->type == H5L_TYPE_SOFT && !strncmp(name, "exchange/", 9);
    if (link->type != H5L_TYPE_HARD && !soft)
        return 0;
    const hid_t access = H5Pcreate(H5P_LINK_ACCESS);
    H5Pset_elink_cb(access, refuse_link, NULL);
    const hid_t id = H5Oopen(group, name, access);
    H5Pclose(access);
    if (id < 0)
        return 0;
    if (H5Iget_type(id) != H5I_DATASET)
        H5Oclose(id);
    else if (w->s->arrays_count == ARRAYS_MOST) {
        H5Oclose(id);
        return 1;
    } else
        w->e = add_dataset(w->s, id, name);
    return w->e ? 1 : 0;
}

static void close_file(struct store *s)
{
    for (int i = 0; i < s->arrays_count; i++)
        H5Dclose(((struct dataset *)s->arrays[i]->reader)->id);
    if (s->reader)
        H5Fclose(*(hid_t *)s->reader);
}

static int by_bytes(const void *x, const void *y)
{
    const struct store_array *a = *(struct store_array *const *)x,
                             *b = *(struct store_array *const *)y;
    const int64_t m = store_elements(a) * a->dtype.bytes, n = store_elements(b) * b->dtype.bytes;
    return m != n ? (m > n ? -1 : 1) : strcmp(a->name, b->name);
}

static enum err fill(struct store *s, const struct reader_file *f)
{
    int32_t object;
    hid_t *file = arena_take(s->arena, sizeof *file), list;
    hsize_t userblock = 0;
    FAIL_IF(!file, ERR_MEMORY, "%s: no memory left", f->path);
    TRY(store_object_add(s, NULL, f->path, &object));
    TRY(s->remote ? h5_open_remote(s, object, file) : h5_open(f->path, file));
    s->reader = file;
    s->close = close_file;
    list = H5Fget_create_plist(*file);
    H5Pget_userblock(list, &userblock);
    H5Pclose(list);
    FAIL_IF(userblock, ERR_UNSUPPORTED,
            "%s: has a user block before its data: remove it with h5repack or h5unjam", f->path);
    struct hdf5_walk w = {s, ERR_OK};
    H5Lvisit(*file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, &w);
    TRY(w.e);
    array_sort(s->arrays, (size_t)s->arrays_count, sizeof *s->arrays, by_bytes);
    return ERR_OK;
}

static enum err open_hdf5(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, "HDF5", out));
    enum err e = fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}
#else
static enum err open_hdf5(const struct reader_file *f, struct store **out)
{
    (void)out;
    return FAIL(ERR_UNSUPPORTED,
                "%s: is an HDF5 file, and this build has no HDF5: install libhdf5-dev and build "
                "again",
                f->path);
}
#endif

const struct reader reader_hdf5 = {"HDF5", knows, open_hdf5};
