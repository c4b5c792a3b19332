/* HDF5's filter 32008 (bitshuffle): in blocks of elements the first bits of all lie together, then
 * the second ones, and so on; each block is stored so, or as LZ4 or zstd with its size before it.
 * Written from the published description of the format. */
#include <string.h>

#include "host/store/codec/codecs.h"

/* The 8 x 8 bits of a word, rows of a byte each, transposed. */
static uint64_t bits_transpose(uint64_t x)
{
    uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaULL;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000cccc0000ccccULL;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ULL;
    return x ^ t ^ (t << 28);
}

/* n elements of `item` bytes; n is a multiple of 8. */
static void join_bits(const unsigned char *in, unsigned char *out, size_t n, size_t item)
{
    const size_t row = n / 8; /* bytes of the bits of one rank */
    for (size_t b = 0; b < item; b++)
        for (size_t g = 0; g < row; g++) {
            uint64_t x = 0;
            for (size_t j = 0; j < 8; j++)
                x |= (uint64_t)in[(8 * b + j) * row + g] << (8 * j);
            x = bits_transpose(x);
            for (size_t i = 0; i < 8; i++)
                out[(8 * g + i) * item + b] = (unsigned char)(x >> (8 * i));
        }
}

static uint64_t big_endian(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

/* Restores one block of n bytes as it was before it was compressed; *used: bytes of the input. */
static enum err bitshuffle_block(const struct codec_call *c, size_t at, size_t n,
                                 const unsigned char **out, size_t *used)
{
    if (c->step->codec == CODEC_BITSHUFFLE) {
        if (c->in_bytes < at || c->in_bytes - at < n)
            return CODEC_DAMAGED(c, "it ends within a block");
        *out = c->in + at;
        *used = n;
        return ERR_OK;
    }
    const size_t left = c->in_bytes > at ? c->in_bytes - at : 0,
                 stored = left >= 4 ? (size_t)big_endian(c->in + at, 4) : 0;
    if (!stored || stored > left - 4)
        return CODEC_DAMAGED(c, "a block lies outside");
    TRY(codec_spare(c->worker, 2, n));
    const struct codec_step step = {
        .codec = c->step->codec == CODEC_BITSHUFFLE_LZ4 ? CODEC_LZ4_BLOCK : CODEC_ZSTD};
    const struct codec_call one = {.worker = c->worker,
                                   .step = &step,
                                   .in = c->in + at + 4,
                                   .in_bytes = stored,
                                   .out = c->worker->spare[2],
                                   .out_bytes = n};
    TRY(step.codec == CODEC_ZSTD ? codec_zstd(&one) : codec_lz4(&one));
    *out = c->worker->spare[2];
    *used = stored + 4;
    return ERR_OK;
}

enum err codec_bitshuffle(const struct codec_call *c)
{
    const size_t item = (size_t)c->step->item;
    size_t part = (size_t)c->step->row, at = 0; /* elements of a block */
    if (!item)
        return CODEC_DAMAGED(c, "elements of 0 bytes");
    if (c->step->codec != CODEC_BITSHUFFLE) { /* size of all, size of a block */
        if (c->in_bytes < 12 || big_endian(c->in, 8) != c->out_bytes)
            return CODEC_DAMAGED(c, "its size is not that of the chunk");
        part = (size_t)big_endian(c->in + 8, 4) / item;
        at = 12;
    }
    if (!part)
        part = 8192 / item < 128 ? 128 : 8192 / item / 8 * 8;
    if (part % 8)
        return CODEC_DAMAGED(c, "a block is not of 8, 16, 24 ... elements");
    const size_t n = c->out_bytes / item, whole = n / 8 * 8;
    for (size_t i = 0, count; i < whole; i += count) {
        const unsigned char *from = NULL;
        size_t used = 0;
        count = whole - i < part ? whole - i : part;
        TRY(bitshuffle_block(c, at, count * item, &from, &used));
        join_bits(from, c->out + i * item, count, item);
        at += used;
    }
    const size_t rest = c->out_bytes - whole * item; /* as it is */
    if (c->in_bytes < at || c->in_bytes - at < rest)
        return CODEC_DAMAGED(c, "it ends early");
    memcpy(c->out + whole * item, c->in + at, rest);
    return ERR_OK;
}
