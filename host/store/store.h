/* Files, folders and URLs as named arrays of chunks. A chunk is a range of bytes of an object (a
 * file) and a pipeline of codecs, known from headers and indices. engine/engine.h reads any box. */
#ifndef TP_STORE_STORE_H
#define TP_STORE_STORE_H

#include <stdint.h>

#include "base/err.h"
#include "host/store/codec/codec.h"
#include "host/store/manifest/notes.h"

#define STORE_DIMS      8
#define STORE_PIPELINES 8 /* of an array */
/* A chunk that claims more than this many times its stored bytes is refused: zstd reaches 43,690.
 * Of deflate it is 1,040, of LZW 4,096. Chunks below STORE_SMALL decoded bytes are not judged. */
#define STORE_RATIO 65536
#define STORE_SMALL ((int64_t)1 << 20)

struct store_dtype {
    char kind;                 /* 'b' bool, 'i', 'u', 'f', 'c' complex */
    unsigned char bytes, swap; /* swap: stored big-endian */
};

struct store_chunk {
    int32_t object;   /* index of store->objects; -1: not stored, all of it is the fill value */
    int16_t pipeline; /* index of the array's pipelines */
    int16_t whole;    /* a whole object behind a URL that may be missing: `stored` is the most */
    int64_t offset, stored;
    int64_t skip; /* decoded bytes before the chunk's own (BGZF members) */
};

/* Place of a chunk in arrays whose chunks form no grid; only a part of the decoded chunk where
 * `whole` is its shape (whole[0] > 0) and `from` the place of the part in it. */
struct store_tile {
    int64_t start[STORE_DIMS], shape[STORE_DIMS], from[STORE_DIMS], whole[STORE_DIMS];
};

struct store;
struct nifti_header;
struct store_array {
    const char *name;
    struct store_dtype dtype;
    int dims;
    int64_t shape[STORE_DIMS], chunk[STORE_DIMS], grid[STORE_DIMS]; /* grid: chunks per dimension */
    int cut_edges;         /* chunks at the upper edges hold no more than the array */
    int order[STORE_DIMS]; /* dimensions inside of a chunk, the slowest first */
    const char *axis[STORE_DIMS], *unit[STORE_DIMS]; /* NULL: unknown */
    const char *units, *group; /* of the values; NX_class of its group in HDF5; NULL: unknown */
    const char *from;          /* where links and virtual datasets take it from; NULL: here */
    struct store_member *members, *channels;  /* names of values, of places along c */
    int members_count, channels_count, apart; /* apart: no two tiles overlap */
    double spacing[STORE_DIMS];               /* 0: unknown */
    double slope, intercept;                  /* value = slope * stored + intercept */
    const struct nifti_header *nifti;         /* its other fields; NULL: of another format */
    unsigned char fill[16];
    int pipelines_count;
    struct codec_pipeline pipelines[STORE_PIPELINES];

    int64_t chunks_count;
    struct store_chunk *chunks; /* in the order of the grid, last dimension fastest; store_index */
    struct store_tile *tiles;   /* NULL: a grid */
    enum err (*index)(struct store *s, struct store_array *a); /* of the reader; NULL: none */
    /* The same for the chunks of a box, where the others cost requests of their own; NULL: none */
    enum err (*index_box)(struct store *s, struct store_array *a, const int64_t start[STORE_DIMS],
                          const int64_t count[STORE_DIMS]);
    unsigned char *indexed; /* of each chunk, after index_box alone; NULL: all that are there */
    void *reader;           /* what it keeps for its index */
};

struct store_object {
    const char *name;   /* a path, or a URL */
    const void *memory; /* bytes that the reader holds already (small arrays inside of headers) */
    const char *root;   /* real path of the folder that it must lie below; NULL: anywhere */
    int64_t bytes;      /* -1: not asked yet */
    int fd;             /* -1: closed */
};

struct store {
    const char *name, *format; /* "NumPy array", ... */
    int32_t arrays_count, notes_count, aliases_count, objects_count;
    struct store_array **arrays; /* the first is the largest that holds numbers of interest */
    struct store_object *objects;
    struct store_note *notes;
    struct store_alias *aliases;
    struct arena *arena;          /* of all names, chunks and tables */
    int remote;                   /* its objects have URLs */
    const char *root;             /* of objects that are added from now on */
    struct remote_blocks *blocks; /* of manifest/remote.c */
    struct object_window *window; /* of manifest/object.c */
    struct codec_child *decoders; /* idle ones */
    void *reader;
    void (*close)(struct store *s); /* of the reader; NULL: none */
    size_t arrays_room, objects_room, notes_room, aliases_room;
};

/* Opens by content. ERR_INPUT names what was found where no reader knows it. */
enum err store_open(const char *name, struct store **out);
void store_close(struct store *s); /* NULL is fine */

/* Opens libhdf5, which the program does without until then. NULL, or why it cannot be opened. */
const char *store_hdf5(void);
/* By name; NULL: the first, where none that is unreadable may be larger. ERR_INPUT lists names. */
enum err store_find(struct store *s, const char *name, struct store_array **out);
/* Fills a->chunks where it is not yet there (HDF5's trees, shards' tables): all, or what a box needs. */
enum err store_index(struct store *s, struct store_array *a);
enum err store_index_box(struct store *s, struct store_array *a, const int64_t start[STORE_DIMS],
                         const int64_t count[STORE_DIMS]);
int64_t store_elements(const struct store_array *a);           /* INT64_MAX: they are more */
int64_t store_bytes(const struct store_array *a, int element); /* the same */
/* Shape of a chunk as it is decoded, and its place. */
void store_chunk_box(const struct store_array *a, int64_t chunk, int64_t start[STORE_DIMS],
                     int64_t shape[STORE_DIMS]);
/* The same as decoded, of which `from` on are in the array. */
void store_chunk_shape(const struct store_array *a, int64_t chunk, int64_t from[STORE_DIMS],
                       int64_t shape[STORE_DIMS]);
int64_t store_chunk_bytes(const struct store_array *a, int64_t chunk);
/* "uint16", "float32"; big-endian ones as ">u2" in JSON only. */
void store_dtype_name(struct store_dtype t, char out[16]);

#endif
