/* Zstandard frames, as Zarr and HDF5 have them, and CZI's two forms of them. */
#include <string.h>

#include "host/store/codec/codecs.h"

#ifdef TP_ZSTD
#include <zstd.h>

int zstd_available(void)
{
    return 1;
}

void zstd_free(struct codec_worker *w)
{
    ZSTD_freeDCtx(w->zstd);
    w->zstd = NULL;
}

/* At most `room` bytes; *got of them. */
static enum err zstd_decode(const struct codec_call *c, const void *in, size_t n, void *out,
                            size_t room, size_t *got)
{
    if (!c->worker->zstd && !(c->worker->zstd = ZSTD_createDCtx()))
        return FAIL(ERR_MEMORY, "no memory left for zstd");
    size_t r = ZSTD_decompressDCtx(c->worker->zstd, out, room, in, n);
    if (ZSTD_isError(r))
        return CODEC_DAMAGED(c, ZSTD_getErrorName(r));
    *got = r;
    return ERR_OK;
}

enum err codec_zstd(const struct codec_call *c)
{
    size_t got = 0;
    TRY(zstd_decode(c, c->in, c->in_bytes, c->out, c->out_bytes, &got));
    return got == c->out_bytes ? ERR_OK : CODEC_DAMAGED(c, "it ends early");
}

/* The header of form 1: its length, then chunks of options; option 1 says whether the bytes of
 * 16-bit elements lie apart, low ones first. */
static int czi_header(const struct codec_call *c, size_t *bytes, int *split)
{
    *split = 0;
    *bytes = c->in_bytes ? c->in[0] : 0;
    if (*bytes == 1)
        return 1;
    if (*bytes != 3 || c->in_bytes < 3 || c->in[1] != 1)
        return 0;
    *split = c->in[2] & 1;
    return 1;
}

/* Joins low bytes, then high ones, into elements. */
static void join_halves(const unsigned char *restrict from, unsigned char *restrict to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = from[i];
        to[2 * i + 1] = from[n + i];
    }
}

enum err codec_czi(const struct codec_call *c)
{
    size_t header = 0, got = 0;
    int split = 0;
    if (c->step->codec == CODEC_CZI_ZSTD1 && !czi_header(c, &header, &split))
        return CODEC_DAMAGED(c, "its header is unknown");
    split = split && c->step->item == 2;
    if (split)
        TRY(codec_spare(c->worker, 0, c->out_bytes));
    unsigned char *to = split ? c->worker->spare[0] : c->out;
    TRY(zstd_decode(c, c->in + header, c->in_bytes - header, to, c->out_bytes, &got));
    memset(to + got, 0, c->out_bytes - got);
    if (split)
        join_halves(to, c->out, c->out_bytes / 2);
    return ERR_OK;
}

size_t zstd_bound(size_t bytes)
{
    return ZSTD_compressBound(bytes);
}

enum err zstd_encode(const struct codec_step *s, const void *in, size_t n, void *out, size_t room,
                     size_t *got)
{
    *got = ZSTD_compress(out, room, in, n, s->level);
    FAIL_IF(ZSTD_isError(*got), ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(*got));
    return ERR_OK;
}
#else
int zstd_available(void)
{
    return 0;
}

void zstd_free(struct codec_worker *w)
{
    (void)w;
}

static enum err zstd_missing(void)
{
    return FAIL(ERR_UNSUPPORTED,
                "zstd data cannot be read or written by this build: install libzstd-dev and build "
                "again");
}

enum err codec_zstd(const struct codec_call *c)
{
    (void)c;
    return zstd_missing();
}

enum err codec_czi(const struct codec_call *c)
{
    (void)c;
    return zstd_missing();
}

size_t zstd_bound(size_t bytes)
{
    return bytes;
}

enum err zstd_encode(const struct codec_step *s, const void *in, size_t n, void *out, size_t room,
                     size_t *got)
{
    (void)s, (void)in, (void)n, (void)out, (void)room, (void)got;
    return zstd_missing();
}
#endif
