/* HDF5: libhdf5 tells types, filters and where chunks lie; the engine reads and decodes them. */
#include <string.h>

#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"

/* Its first block may be the user's: MATLAB writes a text there. */
static int hdf5_knows(const struct reader_file *f)
{
    for (size_t at = 0; at + 8 <= f->head_bytes; at = at ? 2 * at : 512)
        if (!memcmp(f->head + at, "\x89HDF\r\n\x1a\n", 8))
            return 1;
    return 0;
}

#ifdef TP_HDF5
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "host/store/guard/guarded.h"
#include "host/store/reader/hdf5_parts.h"

#define COMPACT_MOST 65536 /* the format's own limit */
#define FILTERS_MOST CODEC_STEPS
#define MEMBERS_MOST 4096

static int number_type(hid_t type, struct store_dtype *out)
{
    const H5T_class_t class = H5Tget_class(type);
    const size_t bytes = H5Tget_size(type);
    *out = (struct store_dtype){0};
    if (class == H5T_INTEGER)
        out->kind = H5Tget_sign(type) == H5T_SGN_2 ? 'i' : 'u';
    else if (class == H5T_FLOAT)
        out->kind = 'f';
    if (!out->kind || bytes < 1 || bytes > 8 || (bytes & (bytes - 1)))
        return 0;
    if (H5Tget_precision(type) != bytes * 8)
        return 0;
    out->bytes = (unsigned char)bytes;
    out->swap = bytes > 1 && H5Tget_order(type) == H5T_ORDER_BE;
    return 1;
}

static int64_t member_value(struct store_dtype t, const unsigned char *b)
{
    uint64_t v = 0;
    for (int i = 0; i < t.bytes; i++)
        v = v << 8 | b[t.swap ? i : t.bytes - 1 - i];
    const int unused = 64 - 8 * t.bytes;
    return t.kind == 'i' ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

/* FALSE = 0 and TRUE = 1 alone are h5py's bool; other enumerations are their integers, and the
 * names of values go with the array. */
static enum err set_members(struct store *s, hid_t type, struct store_dtype *t,
                            struct store_member **out, int *count)
{
    const int n = H5Tget_nmembers(type);
    *count = 0;
    FAIL_IF(n < 0 || n > MEMBERS_MOST, ERR_INPUT, "its type has %d members", n);
    *out = arena_take(s->arena, (size_t)(n + 1) * sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "%s: no memory left for the names of its values", s->name);
    for (int i = 0; i < n; i++) {
        unsigned char value[16] = {0};
        char *name = H5Tget_member_name(type, (unsigned)i);
        const int good = name && H5Tget_member_value(type, (unsigned)i, value) >= 0;
        (*out)[i] = (struct store_member){store_text(s, good ? name : ""), member_value(*t, value)};
        H5free_memory(name);
        FAIL_IF(!good, ERR_INPUT, "the members of its type are damaged");
        FAIL_IF(!(*out)[i].name, ERR_MEMORY, "%s: no memory left for the names of its values",
                s->name);
    }
    *count = n;
    const struct store_member *m = *out;
    const int first = n == 2 && m[0].value == 1; /* in any order */
    if (n == 2 && t->bytes == 1 && !strcmp(m[first].name, "FALSE") && m[first].value == 0 &&
        !strcmp(m[!first].name, "TRUE") && m[!first].value == 1) {
        t->kind = 'b';
        *count = 0;
    }
    return ERR_OK;
}

static enum err hdf5_set_type(struct store *s, hid_t type, struct store_dtype *out,
                              struct store_member **members, int *count)
{
    *members = NULL;
    *count = 0;
    const hid_t base = H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);
    const int good = base >= 0 && number_type(base, out);
    if (base >= 0)
        H5Tclose(base);
    FAIL_IF(!good, ERR_INPUT, "it does not hold numbers");
    return H5Tget_class(type) == H5T_ENUM ? set_members(s, type, out, members, count) : ERR_OK;
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

/* Kind of scale, digits, elements, class, bytes, sign, order, whether there is a fill value, the
 * value. 0: by exponents, which HDF5 has never written, or with another fill value than 0. */
static int set_scale_offset(const unsigned *value, size_t values, struct codec_step *out)
{
    const int digits = values > 1 ? (int)value[1] : 0;
    if (values < 10 || value[0] == 1 || value[0] > 2 || value[3] > 1 || value[4] < 1 ||
        value[4] > 8 || value[6] > 1 || value[7] > 1 || value[8] || value[9] || digits < -300 ||
        digits > 300 || (value[3] == 1) != (value[0] == 0))
        return 0;
    out->item = (int)value[4];
    out->level = value[3] ? digits : 0;
    out->samples =
        (value[3] ? SCALE_FLOAT : 0) | (value[7] ? SCALE_FILLS : 0) | (value[6] ? SCALE_BIG : 0);
    return 1;
}

/* A filter's codec; 0: not known. */
static int set_filter(int filter, const unsigned *value, size_t values, int item,
                      struct codec_step *out)
{
    static const struct {
        int filter;
        enum codec codec;
    } rows[] = {{1, CODEC_ZLIB},    {2, CODEC_SHUFFLE},      {3, CODEC_FLETCHER32},
                {4, CODEC_SZIP},    {6, CODEC_SCALE_OFFSET}, {32008, CODEC_BITSHUFFLE},
                {32000, CODEC_LZF}, {32001, CODEC_BLOSC},    {32004, CODEC_LZ4_HDF5},
                {307, CODEC_BZIP2}, {32026, CODEC_BLOSC2},   {32015, CODEC_ZSTD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].filter == filter) {
            *out = (struct codec_step){.codec = rows[i].codec, .item = item};
            if (filter == 2 && values && value[0] >= 1 && value[0] <= 4096)
                out->item = (int)value[0];
            if (filter == 4)
                return set_szip(value, values, out);
            if (filter == 6)
                return set_scale_offset(value, values, out);
            return filter != 32008 || set_bitshuffle(value, values, out);
        }
    return 0;
}

static enum err read_filters(hid_t list, int item, struct dataset *d)
{
    const int n = H5Pget_nfilters(list);
    FAIL_IF(n < 0 || n > FILTERS_MOST, ERR_INPUT, "it has %d filters", n);
    for (int i = 0; i < n; i++) {
        unsigned flags, config, value[32] = {0};
        size_t values = 32;
        char text[64] = "";
        const int filter = (int)H5Pget_filter2(list, (unsigned)i, &flags, &values, value,
                                               sizeof text, text, &config);
        char reason[CODEC_REASON];
        FAIL_IF(!set_filter(filter, value, values, item, &d->steps[i]), ERR_INPUT,
                "its filter %d (%s) is not known", filter, text);
        FAIL_IF(codec_missing(d->steps[i].codec, reason, sizeof reason), ERR_INPUT,
                "its filter is %s, and %s", codec_name(d->steps[i].codec), reason);
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

/* Chunks that the index holds, and no coordinate finds, would be read as fill values. */
static enum err index_check(const struct store *s, const struct store_array *a, int64_t found)
{
    const struct dataset *d = a->reader;
    const hid_t space = H5Dget_space(d->id);
    hsize_t stored = 0;
    const herr_t good = H5Dget_num_chunks(d->id, space, &stored);
    H5Sclose(space);
    FAIL_IF(good < 0 || (int64_t)stored != found, ERR_INPUT,
            "%s: the index of %s is damaged: it has %" PRId64 " chunks, of which %" PRId64
            " are found",
            s->name, a->name, good < 0 ? 0 : (int64_t)stored, found);
    return ERR_OK;
}

/* In the object; -1: where no byte can be. */
static int64_t hdf5_place_of(const struct hdf5_file *f, haddr_t address)
{
    return address > (haddr_t)(INT64_MAX - f->base) ? -1 : (int64_t)address + f->base;
}

static enum err index_chunks(struct store *s, struct store_array *a)
{
    const struct dataset *d = a->reader;
    hsize_t at[STORE_DIMS];
    int64_t start[STORE_DIMS], shape[STORE_DIMS], found = 0;
    const struct hdf5_file *file = hdf5_file(s, d->key.file);
    TRY(store_chunks_room(s, a));
    for (int64_t n = 0; n < a->chunks_count; n++) {
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        hsize_t bytes = 0;
        struct store_chunk c = {.object = file->object};
        store_chunk_box(a, n, start, shape);
        for (int i = 0; i < a->dims; i++)
            at[i] = (hsize_t)start[i];
        FAIL_IF(H5Dget_chunk_info_by_coord(d->id, at, &mask, &address, &bytes) < 0, ERR_INPUT,
                "%s: the index of %s is damaged", s->name, a->name);
        if (address == HADDR_UNDEF)
            continue;
        found++;
        c.offset = hdf5_place_of(file, address);
        c.stored = bytes > INT64_MAX ? -1 : (int64_t)bytes;
        TRY(pipeline_of(s, a, mask, &c.pipeline));
        TRY(store_chunk_set(s, a, n, c));
    }
    return index_check(s, a, found);
}

static enum err set_compact(struct store *s, struct store_array *a, hid_t type)
{
    const struct dataset *d = a->reader;
    const int64_t bytes = store_bytes(a, a->dtype.bytes);
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
    const struct hdf5_file *file = hdf5_file(s, d->key.file);
    if (address != HADDR_UNDEF)
        return store_contiguous(s, a, file->object, hdf5_place_of(file, address));
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

/* Reads the axes of Data Exchange: "theta:y:x". What is there and cannot be read makes the array
 * unreadable: units and axes decide what its numbers mean. */
static enum err hdf5_set_axes(struct store *s, struct store_array *a, int file, hid_t id)
{
    char axes[256], units[256], *rest = axes;
    const int has_units = hdf5_text(s, file, id, "units", units, sizeof units);
    FAIL_IF(has_units < 0, ERR_INPUT, "attribute units: %s", units);
    if (has_units)
        a->units = store_text(s, units);
    const int has_axes = hdf5_text(s, file, id, "axes", axes, sizeof axes);
    FAIL_IF(has_axes < 0, ERR_INPUT, "attribute axes: %s", axes);
    for (int i = 0; i < a->dims && rest && has_axes; i++) {
        char *end = strchr(rest, ':');
        if (end)
            *end = 0;
        a->axis[i] = store_text(s, rest);
        rest = end ? end + 1 : NULL;
    }
    return ERR_OK;
}

static enum err hdf5_set_shape(struct store_array *a, hid_t id)
{
    hsize_t shape[H5S_MAX_RANK] = {0}, most[H5S_MAX_RANK] = {0};
    const hid_t space = H5Dget_space(id);
    const int dims = H5Sget_simple_extent_ndims(space);
    int good = dims >= 0 && dims <= STORE_DIMS && H5Sget_simple_extent_type(space) != H5S_NULL &&
               H5Sget_simple_extent_dims(space, shape, most) >= 0;
    H5Sclose(space);
    a->dims = dims;
    for (int i = 0; i < dims && good; i++)
        FAIL_IF(most[i] != H5S_UNLIMITED && shape[i] > most[i], ERR_INPUT,
                "its dimension %d claims %" PRIu64 " elements of at most %" PRIu64, i,
                (uint64_t)shape[i], (uint64_t)most[i]);
    for (int i = 0; i < dims && good; i++) {
        good = shape[i] > 0 && shape[i] < INT64_MAX;
        a->shape[i] = (int64_t)shape[i];
    }
    FAIL_IF(!good, ERR_INPUT, "it has no elements or more than %d dimensions", STORE_DIMS);
    return ERR_OK;
}

static enum err array_fill(struct store *s, struct store_array *a, int file, hid_t list, hid_t type,
                           int depth)
{
    struct dataset *d = a->reader;
    const int is_virtual = H5Pget_layout(list) == H5D_VIRTUAL;
    TRY(hdf5_set_type(s, type, &a->dtype, &a->members, &a->members_count));
    FAIL_IF(H5Pget_external_count(list) != 0, ERR_INPUT,
            "its data are in another file, which is not HDF5; copy them into one with h5repack");
    if (H5Pget_fill_value(list, type, a->fill) < 0)
        memset(a->fill, 0, sizeof a->fill);
    TRY(is_virtual ? hdf5_virtual(s, a, file, list, d->id, depth) : hdf5_set_shape(a, d->id));
    TRY(hdf5_set_axes(s, a, file, d->id));
    TRY(read_filters(list, a->dtype.bytes, d));
    return is_virtual ? ERR_OK : set_layout(s, a, list, type);
}

/* -1: they cannot be told. */
static int64_t elements_of(hid_t dataset)
{
    const hid_t space = H5Dget_space(dataset);
    const hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    return n;
}

static enum err array_make(struct store *s, int file, hid_t id, const char *name, int depth,
                           struct store_array **out)
{
    struct store_array *a = NULL;
    struct dataset *d = arena_take(s->arena, sizeof *d);
    const int first = s->arrays_count;
    *out = NULL;
    enum err e = d ? store_array_add(s, name, &a) : ERR_MEMORY;
    if (e) {
        H5Dclose(id);
        return FAIL(ERR_MEMORY, "%s: no memory left for its arrays", s->name);
    }
    s->arrays_count = first;
    const hid_t type = H5Dget_type(id), list = H5Dget_create_plist(id);
    a->reader = d;
    d->id = id;
    hdf5_key_of(file, id, &d->key);
    e = type < 0 || list < 0 ? FAIL(ERR_INPUT, "its header is damaged")
                             : array_fill(s, a, file, list, type, depth);
    const int is_text = type >= 0 && H5Tget_class(type) == H5T_STRING;
    H5Tclose(type);
    H5Pclose(list);
    if (!e) {
        *out = a;
        if (!depth)
            s->arrays[s->arrays_count++] = a;
        if (!depth)
            hdf5_file(s, file)->used = 1;
        return ERR_OK;
    }
    const int64_t elements = elements_of(id);
    H5Dclose(id);
    if (depth || (e != ERR_INPUT && e != ERR_UNSUPPORTED) || is_text)
        return depth || !is_text ? e : ERR_OK;
    return store_unreadable_add(s, name, elements, "%s", err_text());
}

static void close_file(struct store *s)
{
    for (int i = 0; i < s->arrays_count; i++)
        H5Dclose(((struct dataset *)s->arrays[i]->reader)->id);
    hdf5_files_close(s);
}

static int array_by_bytes(const void *x, const void *y)
{
    const struct store_array *a = *(struct store_array *const *)x,
                             *b = *(struct store_array *const *)y;
    const int64_t m = store_bytes(a, a->dtype.bytes), n = store_bytes(b, b->dtype.bytes);
    return m != n ? (m > n ? -1 : 1) : strcmp(a->name, b->name);
}

static enum err hdf5_fill(struct store *s, const struct reader_file *f)
{
    struct hdf5_reader *r = arena_take(s->arena, sizeof *r);
    FAIL_IF(!r, ERR_MEMORY, "%s: no memory left", f->path);
    s->reader = r;
    r->array = array_make;
    s->close = close_file;
    TRY(hdf5_file_first(s, f->path));
    TRY(hdf5_walk(s));
    array_sort(s->arrays, (size_t)s->arrays_count, sizeof *s->arrays, array_by_bytes);
    return ERR_OK;
}

static enum err hdf5_open_here(const void *file, struct store **out)
{
    const struct reader_file *f = file;
    TRY(store_make(f->path, "HDF5", out));
    enum err e = hdf5_fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

static enum err open_hdf5(const struct reader_file *f, struct store **out)
{
    TRY(h5_start(f->path));
    return guarded_open(f->path, "HDF5", hdf5_open_here, f, out);
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

const struct reader reader_hdf5 = {"HDF5", "HDF5", hdf5_knows, open_hdf5};
