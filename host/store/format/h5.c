/* Calls of libhdf5 with lengths checked and errors in sentences. */
#ifdef TP_HDF5
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/base/file.h"
#include "host/base/memory.h"
#include "host/store/format/h5.h"

enum err h5_open(const char *path, hid_t *file)
{
    FILE *f;
    *file = -1;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    TRY(file_open(path, &f)); /* for the system's reason, which HDF5 does not tell */
    fclose(f);
    *file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    FAIL_IF(*file < 0, ERR_INPUT, "%s: is not an HDF5 file, or is damaged", path);
    return ERR_OK;
}

/* For links into other files: not followed. */
static herr_t refuse_link(const char *parent_file, const char *parent, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *data)
{
    (void)parent_file, (void)parent, (void)file, (void)object, (void)flags, (void)access,
        (void)data;
    return -1;
}

int h5_exists(hid_t file, const char *name)
{
    char part[256];
    int there = 1;
    hid_t access = H5Pcreate(H5P_LINK_ACCESS);
    H5Pset_elink_cb(access, refuse_link, NULL);
    for (const char *slash = name; slash; slash++) {
        slash = strchr(slash, '/');
        int n = slash ? (int)(slash - name) : (int)strlen(name);
        snprintf(part, sizeof part, "%.*s", n, name);
        there = H5Lexists(file, part, access) > 0 &&
                H5Oexists_by_name(file, part, access) > 0; /* what the link leads to */
        if (!slash || !there)
            break;
    }
    H5Pclose(access);
    return there;
}

static enum err read_type(struct h5_array *a)
{
    hid_t type = H5Dget_type(a->dataset);
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    int is_signed = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    H5Tclose(type);
    FAIL_IF((class != H5T_INTEGER && class != H5T_FLOAT) || bytes < 1 || bytes > 16, ERR_INPUT,
            "%s: %s does not hold numbers", a->path, a->name);
    snprintf(a->dtype, sizeof a->dtype, "%s%d",
             class == H5T_FLOAT ? "float"
             : is_signed        ? "int"
                                : "uint",
             (int)bytes * 8);
    return ERR_OK;
}

static enum err read_shape(struct h5_array *a)
{
    hsize_t shape[H5S_MAX_RANK] = {0};
    hid_t space = H5Dget_space(a->dataset);
    int dims = H5Sget_simple_extent_ndims(space),
        simple = H5Sget_simple_extent_type(space) != H5S_NULL;
    if (dims >= 0)
        H5Sget_simple_extent_dims(space, shape, NULL);
    H5Sclose(space);
    FAIL_IF(dims < 0 || !simple || dims > H5_DIMS, ERR_INPUT,
            "%s: %s has %d dimensions; at most %d are expected", a->path, a->name, dims, H5_DIMS);
    a->dims = dims;
    for (int i = 0; i < dims; i++) {
        FAIL_IF(shape[i] < 1 || shape[i] > INT32_MAX, ERR_INPUT,
                "%s: %s has an impossible size (dimension %d: %llu)", a->path, a->name, i,
                (unsigned long long)shape[i]);
        a->shape[i] = (int64_t)shape[i];
    }
    return ERR_OK;
}

static enum err check_place(const struct h5_array *a)
{
    hid_t list = H5Dget_create_plist(a->dataset);
    int elsewhere = H5Pget_external_count(list) != 0 || H5Pget_layout(list) == H5D_VIRTUAL;
    H5Pclose(list);
    FAIL_IF(elsewhere, ERR_INPUT,
            "%s: %s keeps its data in another file; copy them into one (h5repack)", a->path,
            a->name);
    return ERR_OK;
}

/* Data that were never written would be read as zeros; a chunk is held in memory as a whole while
 * it is read, whatever part is wanted. */
static enum err check_storage(struct h5_array *a, hid_t file)
{
    TRY(check_place(a));
    hsize_t stored = H5Dget_storage_size(a->dataset), file_bytes = 0;
    FAIL_IF(stored == 0, ERR_INPUT, "%s: %s holds no data", a->path, a->name);
    FAIL_IF(H5Fget_filesize(file, &file_bytes) < 0 || stored > file_bytes, ERR_INPUT,
            "%s: %s says to hold more bytes than the file", a->path, a->name);
    hsize_t chunk[H5S_MAX_RANK] = {0};
    hid_t list = H5Dget_create_plist(a->dataset), type = H5Dget_type(a->dataset);
    int64_t bytes = (int64_t)H5Tget_size(type), good = 1;
    a->file_bytes = (int64_t)file_bytes;
    if (H5Pget_layout(list) == H5D_CHUNKED) {
        int n = H5Pget_chunk(list, H5_DIMS, chunk);
        for (int i = 0; i < n && i < H5_DIMS; i++) {
            good = good && chunk[i] >= 1 && chunk[i] <= INT32_MAX &&
                   !__builtin_mul_overflow(bytes, (int64_t)chunk[i], &bytes);
            a->chunk[i] = (int64_t)chunk[i];
        }
    }
    H5Tclose(type);
    H5Pclose(list);
    FAIL_IF(!good, ERR_INPUT, "%s: %s has chunks of an impossible size", a->path, a->name);
    /* Asking the system takes longer than reading a small chunk. */
    return bytes > 1 << 20 ? mem_require("a chunk of the file", (size_t)bytes, NULL) : ERR_OK;
}

/* Chunks that span views and rows are decompressed once per row in sinogram order unless they stay:
 * HDF5 keeps 1 MiB of them by default. */
#define CHUNK_CACHE ((size_t)64 << 20)

enum err h5_array_open(const char *path, hid_t file, const char *name, struct h5_array *out)
{
    *out = (struct h5_array){.path = path, .name = name, .dataset = -1};
    FAIL_IF(!h5_exists(file, name), ERR_INPUT, "%s: has no dataset %s", path, name);
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, 2003, CHUNK_CACHE, 1);
    H5Pset_elink_cb(access, refuse_link, NULL);
    out->dataset = H5Dopen2(file, name, access);
    H5Pclose(access);
    FAIL_IF(out->dataset < 0, ERR_INPUT, "%s: %s is not a dataset, or is damaged", path, name);
    enum err e = read_type(out);
    if (!e)
        e = read_shape(out);
    if (!e)
        e = check_storage(out, file);
    if (e)
        h5_array_close(out);
    return e;
}

void h5_array_close(struct h5_array *a)
{
    if (a->dataset >= 0)
        H5Dclose(a->dataset);
    a->dataset = -1;
}

static int read_text(hid_t attribute, hid_t type, char *out, size_t room)
{
    size_t bytes = H5Tget_size(type);
    if (H5Tis_variable_str(type) > 0) {
        char *text = NULL;
        hid_t memory = H5Tcopy(type);
        int good = H5Aread(attribute, memory, &text) >= 0 && text;
        if (good)
            snprintf(out, room, "%s", text);
        H5Tclose(memory);
        H5free_memory(text);
        return good;
    }
    char text[1024];
    if (bytes < 1 || bytes >= sizeof text || H5Aread(attribute, type, text) < 0)
        return 0;
    text[bytes] = 0;
    snprintf(out, room, "%s", text);
    return 1;
}

int h5_text(hid_t object, const char *name, char *out, size_t room)
{
    int good = 0;
    out[0] = 0;
    if (H5Aexists(object, name) <= 0)
        return 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return 0;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    if (H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1)
        good = read_text(attribute, type, out, room);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return good;
}

/* The table's entries for the block's chunks lie in the file. Chunks that are not there are zeros.
 */
static enum err check_chunks(const struct h5_array *a, const struct h5_block *b)
{
    hsize_t at[H5_DIMS] = {0};
    if (!a->chunk[0])
        return ERR_OK;
    for (int i = 0; i < a->dims; i++)
        at[i] = (hsize_t)(b->start[i] / a->chunk[i] * a->chunk[i]);
    for (;;) {
        haddr_t address = HADDR_UNDEF;
        hsize_t bytes = 0;
        herr_t got = H5Dget_chunk_info_by_coord(a->dataset, at, NULL, &address, &bytes);
        FAIL_IF(got < 0 || (address != HADDR_UNDEF && (bytes > (hsize_t)a->file_bytes ||
                                                       address > (hsize_t)a->file_bytes - bytes)),
                ERR_INPUT, "%s: %s has a chunk outside of the file: the file is damaged", a->path,
                a->name);
        int i = a->dims - 1;
        while (i >= 0 && (at[i] += (hsize_t)a->chunk[i]) >= (hsize_t)(b->start[i] + b->count[i])) {
            at[i] = (hsize_t)(b->start[i] / a->chunk[i] * a->chunk[i]);
            i--;
        }
        if (i < 0)
            return ERR_OK;
    }
}

static herr_t select_block(hid_t space, int dims, const struct h5_block *b)
{
    hsize_t start[H5_DIMS], count[H5_DIMS];
    for (int i = 0; i < dims; i++) {
        start[i] = (hsize_t)b->start[i];
        count[i] = (hsize_t)b->count[i];
    }
    return H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
}

enum err h5_read(const struct h5_array *a, const struct h5_block *from, float *out,
                 const struct h5_block *to)
{
    hsize_t shape[H5_DIMS];
    TRY(check_chunks(a, from));
    for (int i = 0; i < a->dims; i++)
        shape[i] = (hsize_t)to->shape[i];
    hid_t space = H5Dget_space(a->dataset), memory = H5Screate_simple(a->dims, shape, NULL);
    int good = select_block(space, a->dims, from) >= 0 && select_block(memory, a->dims, to) >= 0 &&
               H5Dread(a->dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, out) >= 0;
    H5Sclose(memory);
    H5Sclose(space);
    FAIL_IF(!good, ERR_INPUT,
            "%s: %s cannot be read: the file is damaged, or HDF5 lacks its compression filter",
            a->path, a->name);
    return ERR_OK;
}

enum err h5_read_all(const struct h5_array *a, double *out)
{
    struct h5_block all = {.start = {0}};
    memcpy(all.count, a->shape, sizeof all.count);
    TRY(check_chunks(a, &all));
    FAIL_IF(H5Dread(a->dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0,
            ERR_INPUT, "%s: %s cannot be read: the file is damaged", a->path, a->name);
    return ERR_OK;
}

int h5_scalar(const char *path, hid_t file, const char *name, double *out)
{
    struct h5_array a;
    if (!h5_exists(file, name) || h5_array_open(path, file, name, &a))
        return 0;
    int64_t n = 1;
    for (int i = 0; i < a.dims; i++)
        n *= a.shape[i];
    int good = n == 1 && h5_read_all(&a, out) == ERR_OK;
    h5_array_close(&a);
    return good;
}
#endif
