/* Blosc 1 blocks (Zarr 2's default). */
#include <string.h>

#include "host/store/codec/codecs.h"

#ifdef TP_BLOSC
#include <blosc.h>

int blosc_available(void)
{
    return 1;
}

enum err blosc_part(const struct codec_call *c, size_t begin, size_t end)
{
    size_t bytes = 0, item = 0;
    int flags;
    if (blosc_cbuffer_validate(c->in, c->in_bytes, &bytes) < 0 || bytes != c->out_bytes)
        return codec_blosc(c);
    blosc_cbuffer_metainfo(c->in, &item, &flags);
    if (!item || bytes % item || bytes > INT32_MAX || (end - begin) * 2 > bytes)
        return codec_blosc(c);
    int done;
    TRY(blosc_lz4_part(c, begin, end, &done));
    if (done)
        return ERR_OK;
    const int first = (int)(begin / item), n = (int)((end + item - 1) / item) - first;
    if (blosc_getitem(c->in, first, n, c->out + (size_t)first * item) != n * (int)item)
        return CODEC_DAMAGED(c, "it cannot be decompressed");
    return ERR_OK;
}

enum err codec_blosc(const struct codec_call *c)
{
    size_t bytes = 0;
    if (blosc_cbuffer_validate(c->in, c->in_bytes, &bytes) < 0)
        return CODEC_DAMAGED(c, "not a blosc block");
    if (bytes != c->out_bytes)
        return CODEC_DAMAGED(c, "its size is not that of the chunk");
    if (bytes && blosc_decompress_ctx(c->in, c->out, c->out_bytes, 1) != (int)bytes)
        return CODEC_DAMAGED(c, "it cannot be decompressed");
    return ERR_OK;
}
#else
int blosc_available(void)
{
    return 0;
}

enum err blosc_part(const struct codec_call *c, size_t begin, size_t end)
{
    (void)begin, (void)end;
    return codec_blosc(c);
}

enum err codec_blosc(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED,
                "blosc data cannot be read by this build: install libblosc-dev and build again");
}
#endif
