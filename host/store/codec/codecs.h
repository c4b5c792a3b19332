/* The functions of codec.h's list, and what their files share. */
#ifndef TP_STORE_CODEC_CODECS_H
#define TP_STORE_CODEC_CODECS_H

#include <stdint.h>

#include "host/store/codec/codec.h"

typedef enum err codec_fn(const struct codec_call *c);
codec_fn codec_zlib, codec_gzip, codec_zstd, codec_czi, codec_blosc, codec_lz4, codec_lzf,
    codec_packbits, codec_lzw, codec_jpeg, codec_jxr, codec_shuffle, codec_predict,
    codec_fletcher32, codec_crc32c, codec_bitshuffle, codec_szip, codec_unpack, codec_scale_offset,
    codec_bzip2, codec_blosc2, codec_libtiff, codec_dicom;
/* Stored bytes of so many unpacked ones; 0: these are not whole rows. */
size_t unpack_stored(const struct codec_step *s, size_t out_bytes);

/* Encoders: `out` has room for codec_bound; *got is what was written. */
size_t zlib_bound(size_t bytes);
enum err zlib_encode(const struct codec_step *s, const void *in, size_t n, void *out, size_t room,
                     size_t *got);
size_t zstd_bound(size_t bytes);
enum err zstd_encode(const struct codec_step *s, const void *in, size_t n, void *out, size_t room,
                     size_t *got);
void shuffle_encode(int item, const void *in, size_t n, void *out);
/* Elements [first, end), at their place in `out`, from `item` streams; at most SHUFFLE_MOST. */
#define SHUFFLE_MOST 255
void shuffle_decode(size_t item, const unsigned char *const *in, size_t first, size_t end,
                    unsigned char *out);
uint32_t crc32c(const void *in, size_t n);

/* Ways to put the bits of bitshuffle together, the best first, {0} at the end: bit i of byte g of eight
 * rows, `row` bytes apart, becomes out[8 g + i]. */
struct bits_way {
    const char *name;
    int (*runs)(void); /* on this processor */
    void (*join)(const unsigned char *rows, size_t row, size_t groups, unsigned char *out);
};
extern const struct bits_way bits_ways[];

/* Bytes [begin, end) at least, at their place in c->out. */
enum err blosc_part(const struct codec_call *c, size_t begin, size_t end);
/* Does the same for chunks of LZ4, without a library; !*done: another one. */
enum err blosc_lz4_part(const struct codec_call *c, size_t begin, size_t end, int *done);

/* As codec_decode and codec_decode_part (`part`: bytes [begin, end) are wanted), in this process. */
struct codec_task {
    struct codec_pipeline pipeline;
    size_t in_bytes, out_bytes, begin, end;
    int part;
};
enum err codec_run(struct codec_worker *w, const struct codec_task *t, const void *in, void *out);
/* Does what needs no library that has a child; !*done: nothing. */
enum err codec_run_own(struct codec_worker *w, const struct codec_task *t, const void *in,
                       void *out, int *done);
/* The same in the worker's child; *out lies in memory that it shares, until the next call. */
enum err codec_child_run(struct codec_worker *w, const struct codec_task *t, const void *in,
                         const unsigned char **out);
void codec_child_free(struct codec_worker *w);

/* libdeflate, where it is in this build. */
int fast_inflate_available(void);
/* Inflates one member from `in`; 0: done, *used and *got are set; 1: damaged; 2: no room or no
 * library. */
enum inflate_form { FORM_ZLIB, FORM_GZIP, FORM_RAW };
int fast_inflate(struct codec_worker *w, enum inflate_form form, const void *in, size_t n,
                 void *out, size_t room, size_t *used, size_t *got);
void fast_inflate_free(struct codec_worker *w);
/* Inflates a raw stream of unknown size, of at most `most` bytes, into spare[which]; *got bytes. */
enum err inflate_unknown(const struct codec_call *c, int which, size_t most, size_t *got);
/* `n` bytes compressed with a level of 1 to 9, raw or with zlib's wrapper; its length, 0 where it
 * does not fit `room` or libdeflate is not there. */
size_t fast_deflate(int zlib, int level, const void *in, size_t n, void *out, size_t room);

/* Makes room in spare[which] of the worker. */
enum err codec_spare(struct codec_worker *w, int which, size_t bytes);

int zstd_available(void), blosc_available(void), lz4_available(void), jpeg_available(void),
    jxr_available(void), szip_available(void), bzip2_available(void), blosc2_available(void),
    libtiff_available(void), dicom_available(void);
/* Why a library that this build opens late is not open; "" where it is, or the build lacks it. */
const char *blosc_why(void), *jpeg_why(void), *libtiff_why(void);
void jpeg_free(struct codec_worker *w);
void zstd_free(struct codec_worker *w);

#define CODEC_DAMAGED(c, what)                                                                     \
    FAIL(ERR_INPUT, "its %s data are damaged (%s)", codec_name((c)->step->codec), what)

#endif
