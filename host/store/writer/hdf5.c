/* Arrays as HDF5: one dataset, `data`, in chunks that all threads shuffle and compress, and that
 * libhdf5 stores as they are. */
#include "base/text.h"
#include "host/store/writer/chunks.h"

#ifdef TP_HDF5
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/format/h5.h"

struct hdf5_state {
    hid_t file, data;
    int64_t chunk[STORE_DIMS];
    struct codec_pipeline pipeline;
};

/* A copy to close; -1: HDF5 has no type that others read as these numbers. */
static hid_t type_of(struct store_dtype t)
{
    const struct {
        char kind;
        int bytes;
        hid_t type;
    } rows[] = {{'u', 1, H5T_STD_U8LE},  {'u', 2, H5T_STD_U16LE}, {'u', 4, H5T_STD_U32LE},
                {'u', 8, H5T_STD_U64LE}, {'i', 1, H5T_STD_I8LE},  {'i', 2, H5T_STD_I16LE},
                {'i', 4, H5T_STD_I32LE}, {'i', 8, H5T_STD_I64LE}, {'f', 4, H5T_IEEE_F32LE},
                {'f', 8, H5T_IEEE_F64LE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == t.kind && rows[i].bytes == t.bytes)
            return H5Tcopy(rows[i].type);
    return -1;
}

/* Names of values as an enumeration; bool as h5py writes it. */
static hid_t enum_of(const struct writer *w)
{
    static const struct store_member bools[] = {{"FALSE", 0}, {"TRUE", 1}};
    const int is_bool = w->type.kind == 'b';
    const struct store_member *m = is_bool ? bools : w->source->members;
    const int n = is_bool ? 2 : w->source->members_count;
    const hid_t base = is_bool ? H5Tcopy(H5T_STD_I8LE) : type_of(w->type),
                type = base < 0 ? -1 : H5Tenum_create(base);
    int good = type >= 0;
    for (int i = 0; i < n && good; i++) /* little endian: its first bytes are the narrow value */
        good = H5Tenum_insert(type, m[i].name, &m[i].value) >= 0;
    if (base >= 0)
        H5Tclose(base);
    if (good || type < 0)
        return type;
    H5Tclose(type);
    return -1;
}

/* "theta:y:x", as in Data Exchange; an axis without a name is dim_0. */
static int write_axes(const struct writer *w, hid_t data)
{
    char text[STORE_DIMS * 64] = "";
    int known = 0;
    for (int i = 0; i < w->dims; i++) {
        const char *axis = w->source->axis[w->from[i]];
        char name[16];
        snprintf(name, sizeof name, "dim_%d", i);
        known |= axis != NULL;
        text_append(text, sizeof text, "%s%.50s", i ? ":" : "", axis ? axis : name);
    }
    return !known || h5_write_text(data, "axes", text);
}

static hid_t make_data(const struct writer *w, const struct hdf5_state *s, hid_t type)
{
    hsize_t shape[STORE_DIMS], chunk[STORE_DIMS];
    for (int i = 0; i < w->dims; i++) {
        shape[i] = (hsize_t)w->shape[i];
        chunk[i] = (hsize_t)s->chunk[i];
    }
    const hid_t space = H5Screate_simple(w->dims, shape, NULL),
                list = H5Pcreate(H5P_DATASET_CREATE);
    int good = space >= 0 && list >= 0 && H5Pset_chunk(list, w->dims, chunk) >= 0;
    for (int i = s->pipeline.count - 1; i >= 0 && good; i--) /* in the order of writing */
        good = (s->pipeline.step[i].codec == CODEC_SHUFFLE
                    ? H5Pset_shuffle(list)
                    : H5Pset_deflate(list, (unsigned)s->pipeline.step[i].level)) >= 0;
    const hid_t data =
        good ? H5Dcreate2(s->file, "data", type, space, H5P_DEFAULT, list, H5P_DEFAULT) : -1;
    H5Pclose(list);
    H5Sclose(space);
    return data;
}

static enum err hdf5_failed(const struct writer *w)
{
    return FAIL(ERR_IO, "%s: writing failed: %s", w->path,
                errno ? strerror(errno) : "HDF5 does not say why");
}

/* Shuffle and deflate as the filters 2 and 1: every HDF5 has them. */
static enum err hdf5_writer_set_pipeline(struct writer *w, struct hdf5_state *s)
{
    int level;
    TRY(writer_deflate_level(w, 3, &level));
    if (level)
        s->pipeline.step[s->pipeline.count++] =
            (struct codec_step){.codec = CODEC_ZLIB, .level = level};
    if (level && w->type.bytes > 1)
        s->pipeline.step[s->pipeline.count++] =
            (struct codec_step){.codec = CODEC_SHUFFLE, .item = w->type.bytes};
    return ERR_OK;
}

static enum err hdf5_begin(struct writer *w)
{
    struct hdf5_state *s = calloc(1, sizeof *s);
    w->state = s;
    FAIL_IF(!s, ERR_MEMORY, "%s: no memory left to write", w->path);
    s->file = s->data = -1;
    FAIL_IF(w->dims == 0, ERR_UNSUPPORTED, "%s: the array is a single number", w->path);
    TRY(h5_start(w->path));
    TRY(chunks_choose(w, s->chunk));
    int64_t bytes = w->type.bytes;
    for (int i = 0; i < w->dims; i++)
        FAIL_IF(s->chunk[i] > UINT32_MAX / bytes || !(bytes *= s->chunk[i]), ERR_USAGE,
                "`chunk`: chunks of HDF5 hold less than 4 GiB");
    TRY(hdf5_writer_set_pipeline(w, s));
    const hid_t type =
        w->type.kind == 'b' || writer_keeps_members(w) ? enum_of(w) : type_of(w->type);
    FAIL_IF(type < 0, ERR_UNSUPPORTED, "%s: HDF5 has no type for it; add `dtype=float32`", w->path);
    enum err e = outfile_open(&w->file, w->path);
    if (!e && !w->file.temporary)
        e = FAIL(ERR_USAGE, "%s: HDF5 needs a regular file to write to", w->path);
    errno = 0;
    if (!e) {
        snprintf(w->made, sizeof w->made, "%s", w->file.temporary);
        s->file = H5Fcreate(w->made, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        s->data = s->file < 0 ? -1 : make_data(w, s, type);
        if (s->data < 0 || !write_axes(w, s->data))
            e = hdf5_failed(w);
    }
    H5Tclose(type);
    w->step = s->chunk[0];
    return e;
}

/* libhdf5 has one lock, or none. */
static enum err hdf5_put_chunk(struct writer *w, const int64_t at[STORE_DIMS], const void *bytes,
                               size_t n)
{
    const struct hdf5_state *s = w->state;
    hsize_t first[STORE_DIMS];
    int good;
    for (int i = 0; i < w->dims; i++)
        first[i] = (hsize_t)(at[i] * s->chunk[i]);
#pragma omp critical(tp_writer_hdf5)
    {
        errno = 0;
        good = H5Dwrite_chunk(s->data, H5P_DEFAULT, 0, first, n, bytes) >= 0;
    }
    return good ? ERR_OK : hdf5_failed(w);
}

static enum err hdf5_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    const struct hdf5_state *s = w->state;
    return chunks_write_slab(w, s->chunk, &s->pipeline, first, count, data, hdf5_put_chunk);
}

static enum err hdf5_finish(struct writer *w, enum err e)
{
    struct hdf5_state *s = w->state;
    errno = 0;
    int good = s->data < 0 || H5Dclose(s->data) >= 0;
    good = (s->file < 0 || H5Fclose(s->file) >= 0) && good;
    s->file = s->data = -1;
    return e ? e : good ? ERR_OK : hdf5_failed(w);
}
#else
static enum err hdf5_begin(struct writer *w)
{
    return FAIL(ERR_UNSUPPORTED,
                "%s: this build has no HDF5: install libhdf5-dev and build again, or take .zarr",
                w->path);
}

static enum err hdf5_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    (void)first, (void)count, (void)data;
    return hdf5_begin(w);
}

static enum err hdf5_finish(struct writer *w, enum err e)
{
    (void)w;
    return e;
}
#endif

const struct writer_format write_hdf5 = {.suffix = ".h5",
                                         .compresses = 1,
                                         .keeps = KEEPS_AXES | KEEPS_MEMBERS,
                                         .in_chunks = 1,
                                         .begin = hdf5_begin,
                                         .slab = hdf5_slab,
                                         .finish = hdf5_finish};
