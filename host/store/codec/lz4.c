/* LZ4 blocks: bare ones, numcodecs' with their size before them, and those of HDF5's filter 32004.
 */
#include <string.h>

#include "host/store/codec/codecs.h"

#ifdef TP_LZ4
#include <lz4.h>

int lz4_available(void)
{
    return 1;
}

static uint32_t get_big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int lz4_block(const unsigned char *in, size_t n, unsigned char *out, size_t room)
{
    if (n > LZ4_MAX_INPUT_SIZE || room > LZ4_MAX_INPUT_SIZE)
        return -1;
    return LZ4_decompress_safe((const char *)in, (char *)out, (int)n, (int)room);
}

/* Size of all (8 bytes), size of a block (4), then blocks with their stored sizes; a block that did
 * not shrink is stored as it is. Big-endian. */
static enum err lz4_hdf5(const struct codec_call *c)
{
    if (c->in_bytes < 12)
        return CODEC_DAMAGED(c, "it ends within its header");
    uint64_t all = (uint64_t)get_big32(c->in) << 32 | get_big32(c->in + 4);
    size_t part = get_big32(c->in + 8), at = 12, done = 0;
    if (all != c->out_bytes || !part)
        return CODEC_DAMAGED(c, "its size is not that of the chunk");
    while (done < c->out_bytes) {
        size_t room = c->out_bytes - done < part ? c->out_bytes - done : part;
        size_t n = c->in_bytes - at >= 4 ? get_big32(c->in + at) : 0;
        at += 4;
        if (n == 0 || n > c->in_bytes - at)
            return CODEC_DAMAGED(c, "a block lies outside");
        if (n == room)
            memcpy(c->out + done, c->in + at, n);
        else if (lz4_block(c->in + at, n, c->out + done, room) != (int)room)
            return CODEC_DAMAGED(c, "a block cannot be decompressed");
        at += n;
        done += room;
    }
    return ERR_OK;
}

enum err codec_lz4(const struct codec_call *c)
{
    uint32_t size;
    if (c->step->codec == CODEC_LZ4_HDF5)
        return lz4_hdf5(c);
    if (c->step->codec == CODEC_LZ4_BLOCK)
        return lz4_block(c->in, c->in_bytes, c->out, c->out_bytes) == (int)c->out_bytes
                   ? ERR_OK
                   : CODEC_DAMAGED(c, "a block cannot be decompressed");
    if (c->in_bytes < sizeof size)
        return CODEC_DAMAGED(c, "it ends within its header");
    memcpy(&size, c->in, sizeof size);
    if (size != c->out_bytes ||
        lz4_block(c->in + 4, c->in_bytes - 4, c->out, c->out_bytes) != (int)c->out_bytes)
        return CODEC_DAMAGED(c, "it cannot be decompressed");
    return ERR_OK;
}
#else
int lz4_available(void)
{
    return 0;
}

enum err codec_lz4(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED,
                "lz4 data cannot be read by this build: install liblz4-dev and build again");
}
#endif
