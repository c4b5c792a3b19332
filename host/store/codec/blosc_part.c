/* Parts of Blosc 1 chunks that hold LZ4: of each stream only what comes before the end of the part.
 * The library decodes whole blocks, and a block is often all of a chunk. */
#include <string.h>

#include "host/store/codec/codecs.h"

#define HEADER      16
#define SHUFFLED    1
#define COPIED      2
#define BITS        4
#define UNKNOWN     8
#define ONE         16 /* blocks are not split into streams */
#define LZ4         1  /* in the three highest bits */
#define SPLIT_MOST  16
#define SPLIT_LEAST 128 /* elements */

struct blosc_header {
    size_t item, bytes, block;
    unsigned flags;
};

static uint32_t little32(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* 0: not a chunk of which this file knows how to take a part. */
static int header(const struct codec_call *c, struct blosc_header *h)
{
    if (c->in_bytes < HEADER)
        return 0;
    *h = (struct blosc_header){c->in[3], little32(c->in + 4), little32(c->in + 8), c->in[2]};
    const size_t blocks = h->block ? (h->bytes + h->block - 1) / h->block : 0;
    const int plain = !(h->flags & (COPIED | BITS | UNKNOWN)) && h->flags >> 5 == LZ4;
    const int even = h->item && h->block && h->block % h->item == 0 && h->bytes % h->item == 0;
    const int one =
        h->flags & ONE || (even && h->item <= SPLIT_MOST && h->block / h->item >= SPLIT_LEAST);
    return c->in[0] == 2 && plain && even && one && h->bytes == c->out_bytes &&
           h->bytes <= INT32_MAX && h->block <= INT32_MAX && blocks <= (c->in_bytes - HEADER) / 4;
}

#define WIDE 16 /* bytes that are copied at once, some of them for nothing */

/* A length that goes on in bytes of 255; 0: the input ends. */
static int lz4_length(const unsigned char *in, size_t n, size_t *at, size_t *length)
{
    unsigned char more = 255;
    while (more == 255) {
        if (*at >= n)
            return 0;
        more = in[(*at)++];
        *length += more;
    }
    return 1;
}

/* `length` bytes that stood `back` bytes before: what is there already is copied again. `room`
 * bytes may be written. */
static void lz4_repeat(unsigned char *to, size_t back, size_t length, size_t room)
{
    const unsigned char *from = to - back;
    if (back >= WIDE && length <= 2 * WIDE && room >= 2 * WIDE) {
        memcpy(to, from, WIDE);
        memcpy(to + WIDE, from + WIDE, WIDE);
        return;
    }
    if (back == 1) {
        memset(to, *from, length);
        return;
    }
    for (size_t have = back, n; length; to += n, have += n, length -= n) {
        n = length < have ? length : have;
        memcpy(to, from, n);
    }
}

/* The first `want` of a block's `whole` bytes, for which `out` has room; 0: damaged. liblz4 copies
 * the last match byte by byte then, which takes longer than decoding all. */
static int lz4_prefix(const unsigned char *in, size_t n, unsigned char *out, size_t want,
                      size_t whole)
{
    size_t at = 0, done = 0;
    while (done < want) {
        if (at >= n)
            return 0;
        const unsigned token = in[at++];
        size_t literals = token >> 4, length = token & 15;
        if (literals == 15 && !lz4_length(in, n, &at, &literals))
            return 0;
        if (literals > n - at || literals > whole - done)
            return 0;
        if (literals <= 2 * WIDE && n - at >= 2 * WIDE && whole - done >= 2 * WIDE)
            memcpy(out + done, in + at, 2 * WIDE);
        else
            memcpy(out + done, in + at, literals);
        at += literals;
        done += literals;
        if (done >= want)
            break;
        if (n - at < 2)
            return 0;
        const size_t back = in[at] | (size_t)in[at + 1] << 8;
        at += 2;
        if (length == 15 && !lz4_length(in, n, &at, &length))
            return 0;
        length += 4;
        if (back == 0 || back > done || length > whole - done)
            return 0;
        length = length < want - done ? length : want - done;
        lz4_repeat(out + done, back, length, whole - done);
        done += length;
    }
    return 1;
}

struct blosc_block {
    size_t bytes, streams, at; /* at: of the next stream, in the chunk */
};

/* The first `want` bytes of a stream of `whole`. */
static enum err stream(const struct codec_call *c, struct blosc_block *b, size_t whole, size_t want,
                       unsigned char *out)
{
    if (b->at > c->in_bytes || c->in_bytes - b->at < 4)
        return CODEC_DAMAGED(c, "a block lies outside");
    const size_t n = little32(c->in + b->at);
    const unsigned char *in = c->in + b->at + 4;
    b->at += 4;
    if (n == 0 || n > c->in_bytes - b->at || n > whole)
        return CODEC_DAMAGED(c, "a block lies outside");
    b->at += n;
    if (n == whole)
        memcpy(out, in, want);
    else if (!lz4_prefix(in, n, out, want, whole))
        return CODEC_DAMAGED(c, "a block cannot be decompressed");
    return ERR_OK;
}

/* Elements [first, end) from streams of their first bytes, their second bytes, ... */
static void unshuffle(const unsigned char *in, size_t item, size_t elements, size_t first,
                      size_t end, unsigned char *out)
{
    for (size_t k = 0; k < item; k++)
        for (size_t i = first; i < end; i++)
            out[i * item + k] = in[k * elements + i];
}

/* Bytes [low, high) of a block that begins at `out`. */
static enum err block_part(const struct codec_call *c, const struct blosc_header *h,
                           struct blosc_block *b, size_t low, size_t high, unsigned char *out)
{
    const size_t whole = b->bytes / b->streams;
    const int shuffled = h->flags & SHUFFLED && h->item > 1;
    const size_t elements = b->bytes / h->item, first = low / h->item,
                 end = (high + h->item - 1) / h->item;
    unsigned char *to = out;
    if (shuffled) {
        TRY(codec_spare(c->worker, 2, b->bytes));
        to = c->worker->spare[2];
        /* All streams to the end of the part; one stream: to the end of its last bytes. */
        high = b->streams > 1 ? end : (h->item - 1) * elements + end;
    }
    for (size_t k = 0; k < b->streams; k++) {
        const size_t begins = shuffled ? 0 : k * whole, until = high > begins ? high - begins : 0;
        TRY(stream(c, b, whole, until < whole ? until : whole, to + k * whole));
    }
    if (shuffled)
        unshuffle(to, h->item, elements, first, end, out);
    return ERR_OK;
}

enum err blosc_lz4_part(const struct codec_call *c, size_t begin, size_t end, int *done)
{
    struct blosc_header h;
    *done = header(c, &h);
    if (!*done)
        return ERR_OK;
    for (size_t i = begin / h.block; i * h.block < end; i++) {
        const size_t from = i * h.block, left = h.bytes - from;
        struct blosc_block b = {left < h.block ? left : h.block, 1,
                                little32(c->in + HEADER + 4 * i)};
        if (!(h.flags & ONE) && left >= h.block)
            b.streams = h.item;
        TRY(block_part(c, &h, &b, begin > from ? begin - from : 0,
                       end - from < b.bytes ? end - from : b.bytes, c->out + from));
    }
    return ERR_OK;
}
