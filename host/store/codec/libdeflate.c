/* libdeflate: two to three times as fast as zlib on whole blocks. */
#include "host/store/codec/codecs.h"

#ifdef TP_DEFLATE
#include <libdeflate.h>

int fast_inflate_available(void)
{
    return 1;
}

int fast_inflate(struct codec_worker *w, int gzip, const void *in, size_t n, void *out, size_t room,
                 size_t *used, size_t *got)
{
    if (!w->inflate && !(w->inflate = libdeflate_alloc_decompressor()))
        return 2;
    enum libdeflate_result r =
        gzip ? libdeflate_gzip_decompress_ex(w->inflate, in, n, out, room, used, got)
             : libdeflate_zlib_decompress_ex(w->inflate, in, n, out, room, used, got);
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

int fast_inflate(struct codec_worker *w, int gzip, const void *in, size_t n, void *out, size_t room,
                 size_t *used, size_t *got)
{
    (void)w, (void)gzip, (void)in, (void)n, (void)out, (void)room;
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
