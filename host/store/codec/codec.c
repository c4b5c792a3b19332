/* The table of codecs, and pipelines of them. */
#include <stdlib.h>
#include <string.h>

#include "host/store/codec/codecs.h"

static const struct {
    codec_fn *decode;
    int grows;
} table[] = {
#define X(name, text, function, grows) {function, grows},
    CODEC_LIST(X)
#undef X
};

int codec_available(enum codec codec, const char **library)
{
    static const struct {
        enum codec codec;
        const char *library;
        int (*available)(void);
    } needs[] = {{CODEC_ZSTD, "libzstd", zstd_available},
                 {CODEC_CZI_ZSTD0, "libzstd", zstd_available},
                 {CODEC_CZI_ZSTD1, "libzstd", zstd_available},
                 {CODEC_BLOSC, "libblosc", blosc_available},
                 {CODEC_JPEG, "libturbojpeg0", jpeg_available},
                 {CODEC_JXR, "libjxr", jxr_available},
                 {CODEC_LZ4, "liblz4", lz4_available},
                 {CODEC_LZ4_HDF5, "liblz4", lz4_available},
                 {CODEC_BITSHUFFLE_LZ4, "liblz4", lz4_available},
                 {CODEC_BITSHUFFLE_ZSTD, "libzstd", zstd_available},
                 {CODEC_SZIP, "libaec", szip_available}};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].codec == codec) {
            *library = needs[i].library;
            return needs[i].available();
        }
    *library = NULL;
    return 1;
}

void codec_worker_free(struct codec_worker *w)
{
    fast_inflate_free(w);
    zstd_free(w);
    jpeg_free(w);
    for (int i = 0; i < 3; i++)
        free(w->spare[i]);
    *w = (struct codec_worker){0};
}

enum err codec_decode(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                      size_t in_bytes, void *out, size_t out_bytes)
{
    size_t wanted[CODEC_STEPS + 1];
    if (p->count == 0) {
        FAIL_IF(in_bytes < out_bytes, ERR_INPUT, "%zu bytes are stored, %zu are needed", in_bytes,
                out_bytes);
        memcpy(out, in, out_bytes);
        return ERR_OK;
    }
    /* Sizes of each step's input, from the last step on; 0: not known, it is compressed. */
    wanted[p->count] = out_bytes;
    for (int i = p->count - 1; i >= 0; i--) {
        const int grows = table[p->step[i].codec].grows;
        wanted[i] = grows < 0 || !wanted[i + 1] ? 0 : wanted[i + 1] + (size_t)grows;
    }
    struct codec_call c = {.worker = w, .in = in, .in_bytes = in_bytes};
    for (int i = 0; i < p->count; i++) {
        const int grows = table[p->step[i].codec].grows;
        c.step = &p->step[i];
        c.out_bytes = wanted[i + 1];
        FAIL_IF(!c.out_bytes && grows < 0 && i + 1 < p->count, ERR_UNSUPPORTED,
                "two compressors follow each other (%s after %s)", codec_name(p->step[i + 1].codec),
                codec_name(c.step->codec));
        FAIL_IF((wanted[i] && c.in_bytes != wanted[i]) ||
                    (grows >= 0 && c.in_bytes < (size_t)grows),
                ERR_INPUT, "%zu bytes are stored, %zu are needed", c.in_bytes, wanted[i]);
        if (!c.out_bytes && i + 1 < p->count)
            c.out_bytes = c.in_bytes - (size_t)grows;
        if (i + 1 < p->count)
            TRY(codec_spare(w, i & 1, c.out_bytes + 1));
        c.out = i + 1 < p->count ? w->spare[i & 1] : out;
        TRY(table[c.step->codec].decode(&c));
        c.in = c.out;
        c.in_bytes = c.out_bytes;
    }
    return ERR_OK;
}

size_t codec_part_bytes(const struct codec_pipeline *p, size_t whole, size_t end)
{
    const int stream = p->count == 1 && p->step[0].codec == CODEC_GZIP_PART;
    return stream && (end < whole / 2 || !fast_inflate_available()) ? end : whole;
}

enum err codec_decode_part(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                           size_t in_bytes, void *out, size_t out_bytes, size_t begin, size_t end)
{
    const struct codec_call c = {.worker = w,
                                 .step = &p->step[0],
                                 .in = in,
                                 .in_bytes = in_bytes,
                                 .out = out,
                                 .out_bytes = out_bytes};
    if (p->count == 1 && p->step[0].codec == CODEC_BLOSC)
        return blosc_part(&c, begin, end);
    return codec_decode(w, p, in, in_bytes, out, out_bytes);
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
    unsigned char *now = malloc(in_bytes + 1);
    size_t n = in_bytes;
    enum err e = now ? ERR_OK : FAIL(ERR_MEMORY, "no memory left to encode %zu bytes", in_bytes);
    if (now)
        memcpy(now, in, in_bytes);
    for (int i = p->count - 1; i >= 0 && !e; i--) {
        size_t room = encode_bound(&p->step[i], n);
        unsigned char *next = malloc(room);
        e = next ? encode_step(&p->step[i], now, n, next, room, &n)
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
