/* HDF5's filter 4 (SZIP), by libaec's library of that name. */
#include <string.h>

#include "host/store/codec/codecs.h"

#ifdef TP_SZIP
#include <szlib.h>

int szip_available(void)
{
    return 1;
}

/* The size before it was compressed, in 4 bytes, then SZIP's bytes. */
enum err codec_szip(const struct codec_call *c)
{
    const struct codec_step *s = c->step;
    SZ_com_t parameters = {.options_mask = s->level,
                           .bits_per_pixel = s->item,
                           .pixels_per_block = s->samples,
                           .pixels_per_scanline = s->row};
    uint32_t size;
    size_t got = c->out_bytes;
    if (c->in_bytes < sizeof size)
        return CODEC_DAMAGED(c, "it ends within its header");
    memcpy(&size, c->in, sizeof size);
    if (size != c->out_bytes)
        return CODEC_DAMAGED(c, "its size is not that of the chunk");
    if (s->item < 1 || s->item > 64 || s->samples < 2 || s->samples > 32 || s->samples % 2 ||
        s->row < s->samples || s->row > SZ_MAX_PIXELS_PER_SCANLINE)
        return CODEC_DAMAGED(c, "its parameters are outside of what SZIP allows");
    if (SZ_BufftoBuffDecompress(c->out, &got, c->in + sizeof size, c->in_bytes - sizeof size,
                                &parameters) != SZ_OK ||
        got != c->out_bytes)
        return CODEC_DAMAGED(c, "it cannot be decompressed");
    return ERR_OK;
}
#else
int szip_available(void)
{
    return 0;
}

enum err codec_szip(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED,
                "SZIP data cannot be read by this build: install libaec-dev and build again");
}
#endif
