/* Zarr, versions 2 and 3, over anything that has keys: folders, kerchunk references. */
#ifndef TP_STORE_READER_ZARR_H
#define TP_STORE_READER_ZARR_H

#include "host/store/store.h"

enum { ZARR_DEFLATED = 1 };

/* Resolves keys like "a/.zarray" and "a/c/0/1". */
struct zarr_keys {
    void *state;
    /* malloc'ed text; *out NULL: the key is missing. */
    enum err (*text)(struct store *s, void *state, const char *key, char **out);
    /* object -1: the key is missing; pipeline ZARR_DEFLATED: the archive has compressed it too. */
    enum err (*place)(struct store *s, void *state, const char *key, struct store_chunk *out);
};

/* An array keeps this for its index. */
struct zarr_array {
    const struct zarr_keys *keys;
    const char *prefix; /* "" or "name/" */
    int v3_keys;        /* "c/0/1" instead of "0.1" */
    char separator;
    int sharded, index_first, index_sum;
    int64_t shard[STORE_DIMS]; /* elements of a shard */
};

/* Adds the array whose metadata lie below `prefix`; *found is 0 where none do. */
enum err zarr_add(struct store *s, const struct zarr_keys *keys, const char *prefix, int *found);
/* Axes and spacing of the arrays by the group's OME-Zarr metadata, where it has them. */
enum err zarr_multiscales(struct store *s, const struct zarr_keys *keys, const char *prefix);

/* The parts of zarr_add: metadata of version 2 or 3, and chunks. */
struct cJSON;
enum err zarr_parse2(struct store *s, struct store_array *a, const struct cJSON *j);
enum err zarr_parse3(struct store *s, struct store_array *a, const struct cJSON *j);
enum err zarr_index(struct store *s, struct store_array *a, const int64_t start[STORE_DIMS],
                    const int64_t count[STORE_DIMS]);

#endif
