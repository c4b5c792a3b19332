/* zlib and gzip: whole blocks by libdeflate where it is there, parts of a stream by zlib. */
#include <string.h>
#include <zlib.h>

#include "host/store/codec/codecs.h"

/* libdeflate: two to three times as fast as zlib on whole blocks. */

#ifdef TP_DEFLATE
#include <libdeflate.h>

int fast_inflate_available(void)
{
    return 1;
}

int fast_inflate(struct codec_worker *w, enum inflate_form form, const void *in, size_t n,
                 void *out, size_t room, size_t *used, size_t *got)
{
    if (!w->inflate && !(w->inflate = libdeflate_alloc_decompressor()))
        return 2;
    enum libdeflate_result r =
        form == FORM_GZIP ? libdeflate_gzip_decompress_ex(w->inflate, in, n, out, room, used, got)
        : form == FORM_ZLIB
            ? libdeflate_zlib_decompress_ex(w->inflate, in, n, out, room, used, got)
            : libdeflate_deflate_decompress_ex(w->inflate, in, n, out, room, used, got);
    return r == LIBDEFLATE_SUCCESS ? 0 : r == LIBDEFLATE_INSUFFICIENT_SPACE ? 2 : 1;
}

void fast_inflate_free(struct codec_worker *w)
{
    if (w->inflate)
        libdeflate_free_decompressor(w->inflate);
    w->inflate = NULL;
}

size_t fast_deflate(int zlib, int level, const void *in, size_t n, void *out, size_t room)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    const size_t got = !c     ? 0
                       : zlib ? libdeflate_zlib_compress(c, in, n, out, room)
                              : libdeflate_deflate_compress(c, in, n, out, room);
    if (c)
        libdeflate_free_compressor(c);
    return got;
}
#else
int fast_inflate_available(void)
{
    return 0;
}

int fast_inflate(struct codec_worker *w, enum inflate_form form, const void *in, size_t n,
                 void *out, size_t room, size_t *used, size_t *got)
{
    (void)w, (void)form, (void)in, (void)n, (void)out, (void)room;
    *used = *got = 0;
    return 2;
}

void fast_inflate_free(struct codec_worker *w)
{
    (void)w;
}

size_t fast_deflate(int zlib, int level, const void *in, size_t n, void *out, size_t room)
{
    (void)zlib, (void)level, (void)in, (void)n, (void)out, (void)room;
    return 0;
}
#endif

#define PIECE ((size_t)1 << 30) /* zlib counts in 32 bits */

/* Members one after the other until out_bytes are there; *used of the input. */
static enum err inflate_stream(const struct codec_call *c, enum inflate_form form, size_t from,
                               size_t done)
{
    static const int windows[] = {[FORM_ZLIB] = 15, [FORM_GZIP] = 15 + 16, [FORM_RAW] = -15};
    z_stream z = {0};
    FAIL_IF(inflateInit2(&z, windows[form]) != Z_OK, ERR_MEMORY, "no memory left for zlib");
    int r = Z_OK;
    size_t left = c->in_bytes - from;
    z.next_in = (Bytef *)(uintptr_t)(c->in + from);
    while (done < c->out_bytes) {
        size_t give = left < PIECE ? left : PIECE;
        size_t room = c->out_bytes - done < PIECE ? c->out_bytes - done : PIECE;
        z.avail_in = (uInt)give;
        z.avail_out = (uInt)room;
        z.next_out = c->out + done;
        r = inflate(&z, Z_NO_FLUSH);
        left -= give - z.avail_in;
        done += room - z.avail_out;
        if (r == Z_STREAM_END && done < c->out_bytes && left && form == FORM_GZIP)
            r = inflateReset(&z);
        else if (r != Z_OK || (give == z.avail_in && room == z.avail_out))
            break;
    }
    inflateEnd(&z);
    if (done < c->out_bytes)
        return CODEC_DAMAGED(c, r == Z_DATA_ERROR ? "not a deflate stream" : "it ends early");
    return ERR_OK;
}

enum err codec_zlib(const struct codec_call *c)
{
    size_t used, got;
    const enum inflate_form form = c->step->codec == CODEC_DEFLATE ? FORM_RAW : FORM_ZLIB;
    int r = fast_inflate(c->worker, form, c->in, c->in_bytes, c->out, c->out_bytes, &used, &got);
    if (r == 0 && got == c->out_bytes)
        return ERR_OK;
    if (r == 0 || (r == 2 && fast_inflate_available()))
        return CODEC_DAMAGED(c, r ? "it holds more than the chunk" : "it ends early");
    if (r == 1)
        return CODEC_DAMAGED(c, "not a deflate stream");
    return inflate_stream(c, form, 0, 0);
}

enum err codec_gzip(const struct codec_call *c)
{
    size_t from = 0, done = 0;
    uint32_t whole = 0; /* of the last member, modulo 2^32 */
    if (c->step->codec == CODEC_GZIP_PART && c->in_bytes >= sizeof whole)
        memcpy(&whole, c->in + c->in_bytes - sizeof whole, sizeof whole);
    /* libdeflate decodes whole members only: a part of a large one is zlib's. */
    while (fast_inflate_available() && done < c->out_bytes && whole <= c->out_bytes) {
        size_t used = 0, got = 0;
        int r = fast_inflate(c->worker, FORM_GZIP, c->in + from, c->in_bytes - from, c->out + done,
                             c->out_bytes - done, &used, &got);
        if (r == 1)
            return CODEC_DAMAGED(c, "not a deflate stream");
        if (r == 2) /* a part of this member is wanted */
            break;
        from += used;
        done += got;
        if (from >= c->in_bytes && done < c->out_bytes)
            return CODEC_DAMAGED(c, "it ends early");
    }
    return done < c->out_bytes ? inflate_stream(c, FORM_GZIP, from, done) : ERR_OK;
}

/* As fast_inflate, by zlib. */
static int slow_inflate(const void *in, size_t n, void *out, size_t room, size_t *got)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in,
                  .avail_in = (uInt)n,
                  .next_out = out,
                  .avail_out = (uInt)room};
    if (n > PIECE || room > PIECE || inflateInit2(&z, -15) != Z_OK)
        return 1;
    const int r = inflate(&z, Z_FINISH);
    *got = room - z.avail_out;
    inflateEnd(&z);
    return r == Z_STREAM_END ? 0 : r == Z_BUF_ERROR && !z.avail_out ? 2 : 1;
}

enum err inflate_unknown(const struct codec_call *c, int which, size_t most, size_t *got)
{
    size_t used, room = 4 * c->in_bytes + 65536;
    int r;
    do {
        room = room < most ? room : most;
        TRY(codec_spare(c->worker, which, room + 1));
        unsigned char *out = c->worker->spare[which];
        r = fast_inflate_available()
                ? fast_inflate(c->worker, FORM_RAW, c->in, c->in_bytes, out, room, &used, got)
                : slow_inflate(c->in, c->in_bytes, out, room, got);
        if (r == 2 && room == most)
            return CODEC_DAMAGED(c, "it holds more than the chunk");
        room *= 2;
    } while (r == 2);
    return r ? CODEC_DAMAGED(c, "not a deflate stream") : ERR_OK;
}

size_t zlib_bound(size_t bytes)
{
    return compressBound(bytes) + 32;
}

enum err zlib_encode(const struct codec_step *s, const void *in, size_t n, void *out, size_t room,
                     size_t *got)
{
    z_stream z = {0};
    FAIL_IF(n > PIECE, ERR_UNSUPPORTED, "chunks above 1 GiB are not written with %s",
            codec_name(s->codec));
    *got = s->codec == CODEC_ZLIB ? fast_deflate(1, s->level, in, n, out, room) : 0;
    if (*got)
        return ERR_OK;
    FAIL_IF(deflateInit2(&z, s->level, Z_DEFLATED, s->codec == CODEC_GZIP ? 15 + 16 : 15, 8,
                         Z_DEFAULT_STRATEGY) != Z_OK,
            ERR_MEMORY, "no memory left for zlib");
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)(room < 2 * PIECE ? room : 2 * PIECE);
    int r = deflate(&z, Z_FINISH);
    *got = z.total_out;
    deflateEnd(&z);
    FAIL_IF(r != Z_STREAM_END, ERR_INTERNAL, "zlib left %u bytes over", z.avail_in);
    return ERR_OK;
}
