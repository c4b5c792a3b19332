/* A driver for libhdf5 that reads an object of a store. */
#ifdef TP_HDF5
#include "host/store/reader/hdf5_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/manifest/manifest.h"

struct remote_source { /* what an access list holds */
    struct store *store;
    int32_t object;
    int64_t base;
};

struct remote {
    H5FD_t pub; /* libhdf5's part comes first */
    struct remote_source source;
    int64_t bytes;
    haddr_t end; /* of what libhdf5 considers allocated */
};

static H5FD_t *remote_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const struct remote_source *source = H5Pget_driver_info(access);
    struct remote *r = source && !(flags & H5F_ACC_RDWR) ? calloc(1, sizeof *r) : NULL;
    (void)name, (void)most;
    if (!r)
        return NULL;
    r->source = *source;
    if (store_object_bytes(r->source.store, r->source.object, &r->bytes)) {
        free(r);
        return NULL;
    }
    r->bytes -= r->source.base;
    return &r->pub;
}

static herr_t remote_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static herr_t remote_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_METADATA;
    return 0;
}

static haddr_t remote_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct remote *)file)->end;
}

static herr_t remote_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((struct remote *)file)->end = end;
    return 0;
}

static haddr_t remote_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return (haddr_t)((const struct remote *)file)->bytes;
}

static herr_t h5_remote_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                             size_t size, void *to)
{
    struct remote *r = (struct remote *)file;
    (void)type, (void)transfer;
    if (address > (haddr_t)(INT64_MAX - r->source.base) - size)
        return -1;
    const int64_t at = (int64_t)address, left = at < r->bytes ? r->bytes - at : 0;
    const size_t n = (int64_t)size < left ? size : (size_t)left;
    memset((char *)to + n, 0, size - n); /* past the end are zeros, as of the other drivers */
    const int64_t from = at + r->source.base;
    return n && store_object_read(r->source.store, r->source.object, from, to, n) ? -1 : 0;
}

static herr_t remote_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address,
                           size_t size, const void *from)
{
    (void)file, (void)type, (void)transfer, (void)address, (void)size, (void)from;
    return -1;
}

static int remote_compare(const H5FD_t *a, const H5FD_t *b)
{
    return a < b ? -1 : a > b;
}

static const H5FD_class_t driver = {.name = "tomoprof_remote",
                                    .maxaddr = HADDR_MAX,
                                    .fc_degree = H5F_CLOSE_WEAK,
                                    .fapl_size = sizeof(struct remote_source),
                                    .open = remote_open,
                                    .close = remote_close,
                                    .cmp = remote_compare,
                                    .query = remote_query,
                                    .get_eoa = remote_eoa,
                                    .set_eoa = remote_set_eoa,
                                    .get_eof = remote_eof,
                                    .read = h5_remote_read,
                                    .write = remote_write,
                                    .fl_map = H5FD_FLMAP_DICHOTOMY};

enum err h5_open_object(struct store *s, int32_t object, int64_t base, hid_t *file)
{
    const struct remote_source source = {s, object, base};
    *file = -1;
    TRY(h5_start(s->name));
    const hid_t id = H5FDregister(&driver), access = H5Pcreate(H5P_FILE_ACCESS);
    if (id >= 0 && H5Pset_driver(access, id, &source) >= 0)
        *file = H5Fopen(s->name, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (id >= 0)
        H5FDunregister(id);
    FAIL_IF(*file < 0, ERR_INPUT, "%s: is not an HDF5 file, is damaged, or cannot be read",
            s->name);
    return ERR_OK;
}
#endif
