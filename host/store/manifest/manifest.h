/* How readers fill a store: everything is checked here, once, so that no reader can hand a box
 * outside of an array or a chunk outside of a file to the engine. */
#ifndef TP_STORE_MANIFEST_MANIFEST_H
#define TP_STORE_MANIFEST_MANIFEST_H

#include "host/store/store.h"

enum err store_make(const char *name, const char *format, struct store **out);

/* Files that are added from now on lie below `folder`, links of the file system followed, unless
 * store_follow_links. Nothing changes where the store has URLs. */
enum err store_confine(struct store *s, const char *folder);
/* 1: a relative name without .., empty parts and control characters. */
int store_name_is_inside(const char *name);
/* A file. `relative` is put behind the folder `base` (NULL: it is a path of the user's) and must
 * not leave it: absolute names, .. and empty parts are ERR_INPUT. */
enum err store_object_add(struct store *s, const char *base, const char *relative, int32_t *index);
/* The same where the file may be missing: then *index is -1. */
enum err store_object_find(struct store *s, const char *base, const char *relative, int32_t *index);
/* Bytes in memory, copied. */
enum err store_memory_add(struct store *s, const char *name, const void *bytes, size_t n,
                          int32_t *index);
/* Size of an object; asked once. ERR_INPUT: not there. */
enum err store_object_bytes(struct store *s, int32_t object, int64_t *bytes);
/* Reads exactly `n` bytes. ERR_INPUT: the object ends before. */
enum err store_object_read(struct store *s, int32_t object, int64_t offset, void *to, size_t n);

/* A new array, all zero but its name; slope 1. */
enum err store_array_add(struct store *s, const char *name, struct store_array **out);
/* After dtype, dims, shape, chunk, pipelines were set: checks them, fills grid, order and
 * chunks_count. */
enum err store_array_check(struct store *s, struct store_array *a);
/* Room for a->chunks, all not stored. ERR_INPUT above 2^24 of them. */
enum err store_chunks_room(struct store *s, struct store_array *a);
/* Offset, sizes and ratio of a chunk against its object and the array. */
enum err store_chunk_set(struct store *s, struct store_array *a, int64_t chunk,
                         struct store_chunk where);

/* Checks an array whose chunks form no grid: a->tiles lie inside of it. */
enum err store_tiles_check(struct store *s, const struct store_array *a);

/* Cuts an array whose bytes follow each other into chunks of whole rows along the slowest
 * dimensions, of at most `most` bytes where a row allows it, and asks where each lies: bytes
 * [at, at + bytes) of the array. a->order is set before. */
typedef enum err store_where(struct store *s, const void *context, int64_t at, int64_t bytes,
                             struct store_chunk *out);
enum err store_pieces(struct store *s, struct store_array *a, int64_t most, store_where *where,
                      const void *context);

/* An array in one piece, uncompressed, at `offset`: cut into chunks of about 1 MiB. */
enum err store_contiguous(struct store *s, struct store_array *a, int32_t object, int64_t offset);

enum err store_note_add(struct store *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes an array that is there and cannot be read, of so many elements; -1: not known. */
enum err store_unreadable_add(struct store *s, const char *name, int64_t elements,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Its texts live as long as the store. */
enum err store_alias_add(struct store *s, struct store_alias alias);
const char *store_text(struct store *s, const char *text); /* kept; NULL stays NULL */

/* "<u2", "|u1", ">f4"; 0: of another kind. */
int store_dtype_parse(const char *text, struct store_dtype *out);

/* Small reads of objects behind URLs: headers and indices lie in few places, and each request costs
 * a round trip, so that blocks are read and kept. For one thread, while a store is opened. */

struct remote_way { /* as http_size and http_read, which a process without a network replaces */
    enum err (*size)(const char *url, int64_t *bytes);
    enum err (*read)(const char *url, int64_t offset, void *to, size_t n);
};
extern const struct remote_way *remote_way;

/* Exactly n bytes; the caller knows that the object has them. */
enum err remote_read(struct store *s, int32_t object, int64_t offset, void *to, size_t n);
void remote_free(struct store *s);

/* All of an object, malloc'ed and ended by a NUL; *out is NULL where it is not there. ERR_INPUT
 * above `most` bytes. */
enum err remote_text(const char *url, size_t most, char **out);

/* From mappings of a virtual dataset to tiles. */

struct tiles_axis { /* blocks of elements, `stride` apart */
    int64_t start, stride, count, block;
    int unlimited;
};

struct tiles_mapping {          /* element for element, dimensions of one element aside */
    struct store_array *source; /* indexed */
    int source_dims, source_all;
    struct tiles_axis to[STORE_DIMS], from[STORE_DIMS];
};

/* Fills the chunks of `a`: a grid where those of all sources form one, else tiles. Later mappings
 * hide earlier ones. */
enum err tiles_make(struct store *s, struct store_array *a, const struct tiles_mapping *m,
                    size_t count);

#endif
