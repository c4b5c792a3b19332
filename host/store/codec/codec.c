/* Decodes here or in a child, and encodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/codec/children.h"
#include "host/store/codec/codecs.h"

static const struct codec_need {
    enum codec codec;
    const char *library;
    int (*available)(void);
    const char *(*why)(void); /* NULL: it is linked, where the build has it */
} codec_needs[] = {{CODEC_ZSTD, "libzstd", zstd_available, NULL},
                   {CODEC_CZI_ZSTD0, "libzstd", zstd_available, NULL},
                   {CODEC_CZI_ZSTD1, "libzstd", zstd_available, NULL},
                   {CODEC_BLOSC, "libblosc", blosc_available, blosc_why},
                   {CODEC_JPEG, "libturbojpeg0", jpeg_available, jpeg_why},
                   {CODEC_JXR, "libjxr", jxr_available, NULL},
                   {CODEC_LZ4, "liblz4", lz4_available, NULL},
                   {CODEC_LZ4_HDF5, "liblz4", lz4_available, NULL},
                   {CODEC_BITSHUFFLE_LZ4, "liblz4", lz4_available, NULL},
                   {CODEC_BITSHUFFLE_ZSTD, "libzstd", zstd_available, NULL},
                   {CODEC_SZIP, "libaec", szip_available, NULL},
                   {CODEC_BZIP2, "libbz2", bzip2_available, NULL},
                   {CODEC_BLOSC2, "libblosc2", blosc2_available, NULL},
                   {CODEC_LIBTIFF, "libtiff", libtiff_available, libtiff_why},
                   {CODEC_DICOM, "libgdcm", dicom_available, NULL}};

static const struct codec_need *codec_need_find(enum codec codec)
{
    for (size_t i = 0; i < sizeof codec_needs / sizeof *codec_needs; i++)
        if (codec_needs[i].codec == codec)
            return &codec_needs[i];
    return NULL;
}

int codec_available(enum codec codec)
{
    const struct codec_need *n = codec_need_find(codec);
    return !n || n->available();
}

const char *codec_missing(enum codec codec, char *out, size_t room)
{
    const struct codec_need *n = codec_need_find(codec);
    if (!n || n->available())
        return NULL;
    if (n->why && *n->why())
        snprintf(out, room, "%s", n->why());
    else
        snprintf(out, room, "this build has no %s: install %s-dev and build again", n->library,
                 n->library);
    return out;
}

const char *codec_late_why(enum codec codec)
{
    const struct codec_need *n = codec_need_find(codec);
    return !n || !n->why || n->available() || !*n->why() ? NULL : n->why();
}

void codec_worker_free(struct codec_worker *w)
{
    fast_inflate_free(w);
    zstd_free(w);
    jpeg_free(w);
    codec_child_free(w);
    for (int i = 0; i < 3; i++)
        free(w->spare[i]);
    *w = (struct codec_worker){0};
}

int codec_pipeline_available(const struct codec_pipeline *p)
{
    for (int i = 0; i < p->count; i++)
        if (!codec_available(p->step[i].codec))
            return 0;
    return 1;
}

enum err codec_decode_lent(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                           size_t in_bytes, void *out, size_t out_bytes, size_t begin, size_t end,
                           const unsigned char **from)
{
    const struct codec_task t = {.pipeline = *p,
                                 .in_bytes = in_bytes,
                                 .out_bytes = out_bytes,
                                 .begin = begin,
                                 .end = end,
                                 .part = end > 0};
    int done = 0;
    *from = out;
    if (!codec_needs_child(p) || !codec_pipeline_available(p))
        return codec_run(w, &t, in, out);
    TRY(codec_run_own(w, &t, in, out, &done));
    return done ? ERR_OK : codec_child_run(w, &t, in, from);
}

enum err codec_decode_part(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                           size_t in_bytes, void *out, size_t out_bytes, size_t begin, size_t end)
{
    const unsigned char *from;
    TRY(codec_decode_lent(w, p, in, in_bytes, out, out_bytes, begin, end, &from));
    if (from != out)
        memcpy((char *)out + begin, from + begin, end - begin);
    return ERR_OK;
}

enum err codec_decode(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                      size_t in_bytes, void *out, size_t out_bytes)
{
    const unsigned char *from;
    TRY(codec_decode_lent(w, p, in, in_bytes, out, out_bytes, 0, 0, &from));
    if (from != out)
        memcpy(out, from, out_bytes);
    return ERR_OK;
}

static size_t encode_bound(const struct codec_step *s, size_t n)
{
    size_t bound = s->codec == CODEC_ZSTD ? zstd_bound(n) : zlib_bound(n);
    return (bound > n ? bound : n) + 64;
}

static enum err encode_step(const struct codec_step *s, const unsigned char *in, size_t n,
                            unsigned char *out, size_t room, size_t *got)
{
    uint32_t sum;
    *got = n;
    switch (s->codec) {
    case CODEC_ZLIB:
    case CODEC_GZIP:
        return zlib_encode(s, in, n, out, room, got);
    case CODEC_ZSTD:
        return zstd_encode(s, in, n, out, room, got);
    case CODEC_SHUFFLE:
        shuffle_encode(s->item, in, n, out);
        return ERR_OK;
    case CODEC_CRC32C:
        sum = crc32c(in, n);
        memcpy(out, in, n);
        memcpy(out + n, &sum, sizeof sum);
        *got = n + sizeof sum;
        return ERR_OK;
    default:
        return FAIL(ERR_UNSUPPORTED, "%s is read, but not written", codec_name(s->codec));
    }
}

enum err codec_encode(const struct codec_pipeline *p, const void *in, size_t in_bytes, void **out,
                      size_t *out_bytes)
{
    unsigned char *now = NULL;
    size_t n = in_bytes;
    enum err e = ERR_OK;
    for (int i = p->count - 1; i >= 0 && !e; i--) {
        size_t room = encode_bound(&p->step[i], n);
        unsigned char *next = malloc(room);
        e = next ? encode_step(&p->step[i], now ? now : in, n, next, room, &n)
                 : FAIL(ERR_MEMORY, "no memory left to encode %zu bytes", n);
        free(now);
        now = next;
    }
    if (e) {
        free(now);
        now = NULL;
    }
    *out = now;
    *out_bytes = n;
    return e;
}
