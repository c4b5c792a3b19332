/* Virtual datasets of HDF5: their chunks are those of their sources, so that the engine reads and
 * decodes them as any others. Unmapped elements have the fill value. */
#ifdef TP_HDF5
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "host/store/reader/hdf5_parts.h"
#include "host/store/manifest/manifest.h"

#define MAPPINGS_MOST 16384
#define NESTED_MOST   4 /* virtual datasets of virtual datasets */
#define SIZE_MOST     ((int64_t)1 << 46)
#define NAME_BYTES    2048

struct hdf5_source {
    int file;
    const char *path;
    struct store_array *array;
};

struct virtual
{
    struct store *s;
    struct store_array *a;
    int file, depth, grows; /* grows: the unlimited dimension, -1: none */
    int64_t length;         /* of that one, by what its sources hold */
    struct hdf5_source *sources;
    size_t sources_count, sources_room;
    struct tiles_mapping *mappings;
    size_t count, room;
};

/* "%b" becomes the number of a block, "%%" a percent sign. 1: it has a %b. */
static int virtual_expand_name(const char *pattern, int64_t block, char out[NAME_BYTES])
{
    int n = 0, has = 0;
    for (const char *c = pattern; *c && n < NAME_BYTES - 24; c++) {
        const int is_block = c[0] == '%' && c[1] == 'b';
        has |= is_block;
        if (is_block)
            n += snprintf(out + n, 24, "%" PRId64, block);
        else
            out[n++] = *c;
        c += is_block || (c[0] == '%' && c[1] == '%');
    }
    out[n] = 0;
    return has;
}

/* A selection per dimension; `all` where it has no bounds of its own. */
static enum err selection_read(hid_t space, int *dims, struct tiles_axis *axis, int *all)
{
    hsize_t v[4][H5S_MAX_RANK] = {{0}};
    const H5S_sel_type type = H5Sget_select_type(space);
    *dims = H5Sget_simple_extent_ndims(space);
    *all = type == H5S_SEL_ALL;
    if (*all)
        return ERR_OK;
    FAIL_IF(*dims < 1 || *dims > STORE_DIMS, ERR_INPUT, "a mapping has %d dimensions", *dims);
    FAIL_IF(
        (type != H5S_SEL_HYPERSLABS || H5Sget_regular_hyperslab(space, v[0], v[1], v[2], v[3]) < 0),
        ERR_INPUT, "a mapping takes no regular box; boxes with regular steps are read");
    for (int d = 0; d < *dims; d++) {
        axis[d] = (struct tiles_axis){0};
        axis[d].unlimited = v[2][d] == H5S_UNLIMITED || v[3][d] == H5S_UNLIMITED;
        FAIL_IF(v[0][d] > SIZE_MOST || v[1][d] > SIZE_MOST || v[1][d] < 1 ||
                    (v[2][d] > SIZE_MOST && v[2][d] != H5S_UNLIMITED) || v[2][d] < 1 ||
                    (v[3][d] > SIZE_MOST && v[3][d] != H5S_UNLIMITED) || v[3][d] < 1,
                ERR_INPUT, "a mapping has an impossible size");
        axis[d].start = (int64_t)v[0][d];
        axis[d].stride = (int64_t)v[1][d];
        axis[d].count = v[2][d] == H5S_UNLIMITED ? 1 : (int64_t)v[2][d];
        axis[d].block = v[3][d] == H5S_UNLIMITED ? 0 : (int64_t)v[3][d];
    }
    return ERR_OK;
}

static int64_t axis_end(const struct tiles_axis *x)
{
    const __int128 end = (__int128)x->start + (__int128)(x->count - 1) * x->stride + x->block;
    return end > SIZE_MOST ? SIZE_MOST + 1 : (int64_t)end;
}

/* As many blocks of an unlimited axis as fit into `shape` elements. */
static void axis_limit(struct tiles_axis *x, int64_t shape)
{
    const int64_t left = shape - x->start;
    if (!x->block) { /* an unlimited block */
        x->block = left > 0 ? left : 0;
        x->stride = x->block ? x->block : 1;
        return;
    }
    x->count = left < x->block ? 0 : (left - x->block) / x->stride + 1;
}

static enum err source_open(struct virtual *v, const char *file_name, const char *path,
                            struct store_array **out)
{
    struct store *s = v->s;
    struct hdf5_place place;
    int file;
    TRY(hdf5_file_named(s, v->file, file_name, &file));
    for (size_t i = v->sources_count; i-- > 0;)
        if (v->sources[i].file == file && !strcmp(v->sources[i].path, path)) {
            *out = v->sources[i].array;
            return ERR_OK;
        }
    TRY(hdf5_resolve(s, file, path, &place));
    if (H5Iget_type(place.id) != H5I_DATASET) {
        H5Oclose(place.id);
        return FAIL(ERR_INPUT, "%s: %s is not a dataset", file_name, path);
    }
    TRY(hdf5_array_make(s, place.file, place.id, path, v->depth + 1, out));
    const enum err e = store_index(s, *out);
    H5Dclose(((struct dataset *)(*out)->reader)->id);
    TRY(e);
    hdf5_files_trim(s);
    TRY(array_room(&v->sources, &v->sources_room, v->sources_count + 1, sizeof *v->sources));
    v->sources[v->sources_count++] = (struct hdf5_source){file, store_text(s, path), *out};
    const struct store_dtype t = (*out)->dtype, own = v->a->dtype;
    FAIL_IF(t.kind != own.kind || t.bytes != own.bytes || t.swap != own.swap, ERR_INPUT,
            "%s: %s holds numbers of another type", file_name, path);
    if (!v->a->from) {
        char text[NAME_BYTES + 64];
        snprintf(text, sizeof text, "%s:%s", file_name, path);
        v->a->from = store_text(s, text);
    }
    return ERR_OK;
}

static enum err virtual_add_mapping(struct virtual *v, struct tiles_mapping *m)
{
    const struct store_array *a = m->source;
    FAIL_IF(v->count == MAPPINGS_MOST, ERR_INPUT, "it has more than %d mappings", MAPPINGS_MOST);
    FAIL_IF(!m->source_all && m->source_dims != a->dims, ERR_INPUT,
            "a mapping takes %d dimensions of %s, which has %d", m->source_dims, a->name, a->dims);
    for (int d = 0; d < a->dims && m->source_all; d++)
        m->from[d] = (struct tiles_axis){0, 1, 1, a->shape[d], 0};
    m->source_dims = a->dims;
    int64_t taken = 0;
    for (int d = 0; d < a->dims; d++) {
        const int unlimited = m->from[d].unlimited;
        if (unlimited)
            axis_limit(&m->from[d], a->shape[d]);
        if (unlimited)
            taken = m->from[d].count * m->from[d].block;
        FAIL_IF(
            axis_end(&m->from[d]) > a->shape[d] && m->from[d].count && m->from[d].block, ERR_INPUT,
            "a mapping takes elements 0 to %" PRId64 " of %s, which has %" PRId64 " (dimension %d)",
            axis_end(&m->from[d]) - 1, a->name, a->shape[d], d);
    }
    for (int d = 0; d < v->a->dims; d++) {
        struct tiles_axis *x = &m->to[d];
        if (x->unlimited && !x->block) {
            x->block = taken;
            x->stride = taken ? taken : 1;
        } else if (x->unlimited) {
            x->count = taken / x->block;
        }
        if (x->unlimited)
            v->grows = d;
        if (x->count && x->block && axis_end(x) > v->length && d == v->grows)
            v->length = axis_end(x);
        if (!x->count || !x->block)
            return ERR_OK; /* nothing is there yet */
    }
    TRY(array_room(&v->mappings, &v->room, v->count + 1, sizeof *v->mappings));
    v->mappings[v->count++] = *m;
    return ERR_OK;
}

/* Adds a mapping for each file or dataset that a pattern with %b names, until one is absent. */
static enum err blocks_add(struct virtual *v, struct tiles_mapping m, const char *files,
                           const char *paths)
{
    char file[NAME_BYTES], path[NAME_BYTES], name[2 * NAME_BYTES];
    const int by_file = virtual_expand_name(files, 0, file),
              by_path = virtual_expand_name(paths, 0, path);
    int grows = -1;
    for (int d = 0; d < v->a->dims; d++)
        grows = m.to[d].unlimited ? d : grows;
    if (!(by_file || by_path) || grows < 0) {
        TRY(source_open(v, file, path, &m.source));
        return virtual_add_mapping(v, &m);
    }
    const struct tiles_axis axis = m.to[grows];
    v->grows = grows;
    for (int64_t i = 0; i < MAPPINGS_MOST; i++) {
        struct tiles_mapping block = m;
        virtual_expand_name(files, i, file);
        virtual_expand_name(paths, i, path);
        snprintf(name, sizeof name, "%s%s%s", *file == '/' ? "" : hdf5_file(v->s, v->file)->folder,
                 *file == '/' ? "" : "/", file);
        if (i && by_file && !v->s->remote && access(name, F_OK))
            break;
        const enum err e = source_open(v, file, path, &block.source);
        if (e && i && (v->s->remote || !by_file))
            break;
        TRY(e);
        block.to[grows] = (struct tiles_axis){axis.start + i * axis.stride, 1, 1, axis.block, 0};
        TRY(virtual_add_mapping(v, &block));
    }
    return ERR_OK;
}

static enum err mapping_read(struct virtual *v, hid_t list, size_t i)
{
    char file[NAME_BYTES] = "", path[NAME_BYTES] = "";
    struct tiles_mapping m = {.source = NULL};
    int dims = 0, all = 0;
    const hid_t to = H5Pget_virtual_vspace(list, i), from = H5Pget_virtual_srcspace(list, i);
    const ssize_t n = H5Pget_virtual_filename(list, i, file, sizeof file),
                  k = H5Pget_virtual_dsetname(list, i, path, sizeof path);
    enum err e = ERR_OK;
    if (to < 0 || from < 0 || n < 1 || k < 1 || n >= NAME_BYTES || k >= NAME_BYTES)
        e = FAIL(ERR_INPUT, "mapping %zu is damaged", i);
    const int none =
        !e && (H5Sget_select_type(to) == H5S_SEL_NONE || H5Sget_select_type(from) == H5S_SEL_NONE);
    if (!e && !none)
        e = selection_read(to, &dims, m.to, &all);
    if (!e && !none)
        e = selection_read(from, &m.source_dims, m.from, &m.source_all);
    H5Sclose(to);
    H5Sclose(from);
    if (e || none)
        return e;
    for (int d = 0; d < v->a->dims && all; d++)
        m.to[d] = (struct tiles_axis){0, 1, 1, v->a->shape[d], 0};
    FAIL_IF(!all && dims != v->a->dims, ERR_INPUT, "mapping %zu has %d dimensions, the dataset %d",
            i, dims, v->a->dims);
    return blocks_add(v, m, file, path);
}

/* As stored: asking libhdf5 for the shape would open the files of unlimited mappings. */
static enum err shape_read(struct store_array *a, hid_t list, hid_t id, size_t count)
{
    hsize_t shape[H5S_MAX_RANK] = {0};
    hid_t space = -1;
    for (size_t i = 0; i < count && space < 0; i++) {
        space = H5Pget_virtual_vspace(list, i);
        if (H5Sget_select_type(space) == H5S_SEL_ALL) { /* which has no shape */
            H5Sclose(space);
            space = -1;
        }
    }
    space = space < 0 ? H5Dget_space(id) : space;
    a->dims = H5Sget_simple_extent_ndims(space);
    const int good =
        a->dims >= 1 && a->dims <= STORE_DIMS && H5Sget_simple_extent_dims(space, shape, NULL) >= 0;
    H5Sclose(space);
    FAIL_IF(!good, ERR_INPUT, "it has no elements or more than %d dimensions", STORE_DIMS);
    for (int d = 0; d < a->dims; d++)
        a->shape[d] = shape[d] > SIZE_MOST ? -1 : (int64_t)shape[d];
    return ERR_OK;
}

static enum err virtual_fill(struct virtual *v, hid_t list, hid_t id)
{
    struct store_array *a = v->a;
    size_t count = 0;
    FAIL_IF(v->depth >= NESTED_MOST, ERR_INPUT,
            "more than %d virtual datasets take their data from each other", NESTED_MOST);
    FAIL_IF(H5Pget_virtual_count(list, &count) < 0 || count > MAPPINGS_MOST, ERR_INPUT,
            "it has %zu mappings; at most %d are read", count, MAPPINGS_MOST);
    TRY(shape_read(a, list, id, count));
    for (size_t i = 0; i < count; i++)
        TRY(mapping_read(v, list, i));
    if (v->grows >= 0)
        a->shape[v->grows] = v->length;
    for (int d = 0; d < a->dims; d++)
        FAIL_IF(a->shape[d] < 1, ERR_INPUT, "its dimension %d has no elements", d);
    for (size_t i = 0; i < v->count; i++)
        for (int d = 0; d < a->dims; d++)
            FAIL_IF(axis_end(&v->mappings[i].to[d]) > a->shape[d], ERR_INPUT,
                    "a mapping lies outside of it (dimension %d)", d);
    if (v->sources_count > 1) {
        char text[NAME_BYTES + 128];
        snprintf(text, sizeof text, "%s and %zu more", a->from, v->sources_count - 1);
        a->from = store_text(v->s, text);
    }
    return tiles_make(v->s, a, v->mappings, v->count);
}

enum err hdf5_virtual(struct store *s, struct store_array *a, int file, hid_t list, hid_t id,
                      int depth)
{
    struct virtual v = {.s = s, .a = a, .file = file, .depth = depth, .grows = -1};
    const enum err e = virtual_fill(&v, list, id);
    free(v.sources);
    free(v.mappings);
    return e;
}
#endif
