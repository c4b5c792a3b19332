/* Codecs of chunks: each turns a block of bytes into another one. A pipeline is a list of them in
 * the order of decoding. The size of what comes out is known beforehand and never exceeded. */
#ifndef TP_STORE_CODEC_CODEC_H
#define TP_STORE_CODEC_CODEC_H

#include <stddef.h>

#include "base/err.h"

#define CODEC_STEPS 6

/* name, function, bytes that the encoded form has more than the decoded one (-1: compresses) */
#define CODEC_LIST(X)                                                                              \
    X(CODEC_ZLIB, "zlib", codec_zlib, -1)                                                          \
    X(CODEC_DEFLATE, "deflate", codec_zlib, -1) /* without zlib's wrapper */                       \
    X(CODEC_GZIP, "gzip", codec_gzip, -1)       /* all members, to their end */                    \
    X(CODEC_GZIP_PART, "gzip", codec_gzip, -1)  /* as far as is wanted */                          \
    X(CODEC_ZSTD, "zstd", codec_zstd, -1)                                                          \
    X(CODEC_CZI_ZSTD0, "zstd", codec_czi, -1)  /* a short frame is filled up with zeros */         \
    X(CODEC_CZI_ZSTD1, "zstd1", codec_czi, -1) /* CZI: header, frame, bytes split high and low */  \
    X(CODEC_BLOSC, "blosc", codec_blosc, -1)                                                       \
    X(CODEC_LZ4, "lz4", codec_lz4, -1)       /* numcodecs: the size before the block */            \
    X(CODEC_LZ4_HDF5, "lz4", codec_lz4, -1)  /* HDF5's filter 32004: sizes, blocks */              \
    X(CODEC_LZ4_BLOCK, "lz4", codec_lz4, -1) /* a bare block */                                    \
    X(CODEC_BITSHUFFLE_LZ4, "bitshuffle", codec_bitshuffle, -1)  /* HDF5's filter 32008 */         \
    X(CODEC_BITSHUFFLE_ZSTD, "bitshuffle", codec_bitshuffle, -1) /* row: elements of a block */    \
    X(CODEC_SZIP, "szip", codec_szip, -1)       /* item: bits; row: scanline; samples: block */    \
    X(CODEC_BZIP2, "bzip2", codec_bzip2, -1)    /* HDF5's filter 307 */                            \
    X(CODEC_BLOSC2, "Blosc2", codec_blosc2, -1) /* HDF5's filter 32026 */                          \
    X(CODEC_LZF, "lzf", codec_lzf, -1)                                                             \
    X(CODEC_PACKBITS, "packbits", codec_packbits, -1)                                              \
    X(CODEC_LZW, "lzw", codec_lzw, -1) /* TIFF's */                                                \
    X(CODEC_JPEG, "JPEG", codec_jpeg, -1)                                                          \
    X(CODEC_LIBTIFF, "TIFF", codec_libtiff, -1) /* item: bits; tables: codec/libtiff.h */          \
    X(CODEC_DICOM, "DICOM", codec_dicom, -1)    /* a whole file; level: it is scaled to float32 */ \
    X(CODEC_JXR, "JPEG XR", codec_jxr, -1)                                                         \
    X(CODEC_BITSHUFFLE, "bitshuffle", codec_bitshuffle, 0)                                         \
    X(CODEC_SHUFFLE, "shuffle", codec_shuffle, 0)                                                  \
    X(CODEC_PREDICT, "predictor 2", codec_predict, 0) /* TIFF: differences along a row */          \
    X(CODEC_PREDICT_FLOAT, "predictor 3", codec_predict, 0)                                        \
    X(CODEC_UNPACK, "packed bits", codec_unpack,                                                   \
      -1) /* TIFF: item: bits of a sample, 1 to 15, 24 */                                          \
    X(CODEC_SCALE_OFFSET, "scale-offset", codec_scale_offset,                                      \
      -1) /* samples: SCALE_; level: digits */                                                     \
    X(CODEC_FLETCHER32, "fletcher32", codec_fletcher32, 4)                                         \
    X(CODEC_CRC32C, "crc32c", codec_crc32c, 4)

enum codec {
#define X(name, text, function, grows) name,
    CODEC_LIST(X)
#undef X
        CODEC_COUNT
};

enum { CODEC_AS_STORED = 1, CODEC_YCBCR };
enum { SCALE_FLOAT = 1, SCALE_FILLS = 2, SCALE_BIG = 4 }; /* big-endian; with a fill value of 0 */

struct codec_step {
    enum codec codec;
    int item; /* bytes of an element: shuffle, predictors, blosc */
    int row;  /* elements of a row, samples of a pixel: predictors, JPEG (row 0: any) */
    int samples;
    int swap;    /* predictor 2: elements are big-endian; JPEG: blue comes first */
    int colours; /* JPEG: 0: as its own markers say; or one of these, whatever they say */
    int level;   /* encoders; SZIP: its options */
    int plain;   /* blosc: by its store its chunks hold LZ4, which no library has to decode */
    const unsigned char *tables; /* JPEG: those that stand before every tile; borrowed */
    size_t tables_bytes;
};

struct codec_pipeline {
    int count;
    struct codec_step step[CODEC_STEPS]; /* in the order of decoding */
};

/* A thread keeps these between blocks; all zero at first. */
struct codec_worker {
    void *inflate, *zstd, *jpeg;
    unsigned char *spare[3]; /* between two steps; the last inside of one */
    size_t spare_room[3];
    struct codec_child *child;
};
void codec_worker_free(struct codec_worker *w);

struct codec_call {
    struct codec_worker *worker;
    const struct codec_step *step;
    const unsigned char *in;
    size_t in_bytes;
    unsigned char *out;
    size_t out_bytes; /* that are wanted, no more and no less */
};

const char *codec_name(enum codec codec);
/* 0: its library is not in this build, or cannot be opened here. */
int codec_available(enum codec codec);
#define CODEC_REASON 800
/* NULL: available; else what is missing and what to do, in `out`: "this build has no libzstd: ...". */
const char *codec_missing(enum codec codec, char *out, size_t room);
/* The same where this build has it and opens it late, and it is not here; else NULL. */
const char *codec_late_why(enum codec codec);

/* `in` through the pipeline to exactly `out_bytes` bytes. ERR_INPUT: damaged; ERR_UNSUPPORTED: a
 * library is missing. */
enum err codec_decode(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                      size_t in_bytes, void *out, size_t out_bytes);

/* The same where bytes [begin, end) of the result are wanted: they are at their place in `out`,
 * which has codec_part_bytes. A stream whose second half is wanted is decoded whole, because
 * libdeflate, which is twice as fast as zlib, can only do that; of blosc only the blocks that hold
 * the bytes are. */
size_t codec_part_bytes(const struct codec_pipeline *p, size_t whole, size_t end);
enum err codec_decode_part(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                           size_t in_bytes, void *out, size_t out_bytes, size_t begin, size_t end);

/* The way back, for zlib, gzip, zstd, shuffle and crc32c, one step at least: *out is malloc'ed. */
enum err codec_encode(const struct codec_pipeline *p, const void *in, size_t in_bytes, void **out,
                      size_t *out_bytes);

#endif
