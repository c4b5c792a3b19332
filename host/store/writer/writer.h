/* Arrays into files of another format: written beside, read back, compared, then renamed. */
#ifndef TP_STORE_WRITER_WRITER_H
#define TP_STORE_WRITER_WRITER_H

#include "base/file.h"
#include "host/store/engine/engine.h"

struct writer_options {
    const char *array;         /* NULL: the first */
    struct store_dtype type;   /* bytes 0: as it is stored, little-endian */
    int64_t chunk[STORE_DIMS]; /* of Zarr and HDF5; chunk_dims 0: about 1 MiB */
    int chunk_dims;
    struct codec_step codec; /* has_codec 0: zstd in Zarr, where it is there, else gzip */
    int has_codec, raw;
    int zarr; /* 2 or 3; 0: 3 */
    /* Order of the array's dimensions in the target; order_dims 0: its own. */
    int order[STORE_DIMS], order_dims;
    int scale; /* slope and intercept are applied to the values */
    /* Gets the names of what the target cannot hold, before anything is written; NULL: none. */
    void (*lost)(const char *names);
    double spacing[3]; /* of the last three dimensions of a pyramid; 0: the array's */
};

struct writer_result {
    const char *array;
    int64_t bytes;  /* decoded, that were compared */
    int encoded;    /* but for the first chunk and the last, as they are stored */
    int levels;     /* of a pyramid */
    int references; /* nothing was copied or compared */
};

/* ERR_USAGE where the end of `out` names no format; ERR_FAILED where what was read back differs. */
enum err store_convert(const char *in, const char *out, const struct writer_options *o,
                       struct writer_result *result);

/* OME-Zarr: the array, and means of 2 x 2 x 2 of each level until 64 voxels are left. */
enum err store_pyramid(const char *in, const char *out, const struct writer_options *o,
                       struct writer_result *result);

/* For the formats: what is written. Dimensions are those of the target. */
struct writer {
    const char *path;
    const struct writer_options *options;
    const struct store_array *source; /* axes, spacing; dimension i is from[i] there */
    struct store_dtype type;
    int dims, from[STORE_DIMS];
    int64_t shape[STORE_DIMS];
    int colours;  /* 1: the first dimension is RGB or RGBA of a NIfTI voxel */
    int scale;    /* the source's slope and intercept are applied; it is read as float64 */
    int fortran;  /* first dimension fastest: slabs are along the last one */
    int64_t step; /* elements along the slabs' dimension that come together */
    struct outfile file;
    int64_t at, gap; /* in the file: the first element, and what lies between two planes */
    int64_t chunk[STORE_DIMS]; /* of formats in chunks that have `put`; 0: none */
    int encodes;               /* chunks are compared as they are stored */
    char made[4300];           /* what is there before the rename: a file or a folder */
    void *state;
};

enum {
    KEEPS_SPACING = 1,
    KEEPS_AXES = 2,
    KEEPS_SCALE = 4,
    KEEPS_HEADER = 8 /* of NIfTI */,
    KEEPS_MEMBERS = 16
};

struct writer_format {
    const char *suffix;
    int keeps;
    int fortran;
    int compresses;                      /* unless options->raw */
    int in_chunks;                       /* a slab is one row of chunks: `step` of begin stays */
    enum err (*begin)(struct writer *w); /* sets made, step */
    enum err (*slab)(struct writer *w, int64_t first, int64_t count, const void *data);
    /* A box of whole rows at its place, by many threads at a time; NULL: slabs come in their order. */
    enum err (*put)(struct writer *w, const struct engine_box *b, const void *data, int threads);
    /* Compares what lies there with the bytes that `put` handed over, where w->encodes. */
    enum err (*stored)(struct writer *w, const struct engine_box *b);
    enum err (*finish)(struct writer *w, enum err e); /* closes: e is returned, or what failed */
    void (*free)(struct writer *w);                   /* what `state` holds; NULL: nothing */
};
extern const struct writer_format write_npy, write_nifti, write_nifti_gz, write_zarr, write_tiff,
    write_hdf5, write_mrc, write_nrrd, write_metaimage;

/* Slabs [first, first + count) along the slowest dimension of the target, and what one takes. */
enum err writer_read(struct store *s, struct store_array *a, const struct writer *w,
                     const int *from, int64_t first, int64_t count, void *out);
/* Dimension of the target that is the k-th from the slowest on. */
static inline int writer_slow(const struct writer *w, int k)
{
    return w->fortran ? w->dims - 1 - k : k;
}
int64_t writer_slab_bytes(const struct writer *w);
/* ERR_IO where `bytes` do not fit on the disk of `path`. What `compresses` may need less: that is
 * refused where the source stores nearly nothing of what it claims. */
enum err writer_require_space(struct store *s, struct store_array *a, const char *path,
                              int64_t bytes, int compresses);
/* Hands the list of what is not kept to w->options->lost, unless it is empty. */
void writer_lost(const struct store *s, const struct writer *w, const struct writer_format *f);
/* o->order, each dimension once; ERR_USAGE where it is not that. */
enum err writer_order(const struct writer_options *o, int dims, int from[STORE_DIMS]);
/* 1: the source names its values, and they are written unchanged. */
int writer_keeps_members(const struct writer *w);
/* The level of --codec for formats that know deflate alone, `usual` without it, 0 for raw;
 * ERR_USAGE where it is another codec. */
enum err writer_deflate_level(const struct writer *w, int usual, int *level);

/* Writes references to the bytes of `in`: a Zarr 2 view of it. */
enum err store_references(const char *in, const char *out, const struct writer_options *o,
                          struct writer_result *result);

/* "<u2" */
void writer_dtype(struct store_dtype t, char out[8]);

#endif
