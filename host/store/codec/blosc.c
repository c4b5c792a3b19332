/* Blosc 1 blocks (Zarr 2's default). */
#include <string.h>

#include "host/store/codec/codecs.h"

/* Parts of Blosc 1 chunks that hold LZ4: of each stream only what comes before the end of the part.
 * The library decodes whole blocks, and a block is often all of a chunk. */

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

static uint32_t get_little32(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* 0: not a chunk of which this file knows how to take a part. */
static int blosc_header_read(const struct codec_call *c, struct blosc_header *h)
{
    if (c->in_bytes < HEADER)
        return 0;
    *h =
        (struct blosc_header){c->in[3], get_little32(c->in + 4), get_little32(c->in + 8), c->in[2]};
    const size_t blocks = h->block ? (h->bytes + h->block - 1) / h->block : 0;
    const int plain = !(h->flags & (BITS | UNKNOWN)) && h->flags >> 5 == LZ4;
    const int even = h->item && h->block && h->block % h->item == 0 && h->bytes % h->item == 0;
    const int one =
        h->flags & ONE || (even && h->item <= SPLIT_MOST && h->block / h->item >= SPLIT_LEAST);
    return c->in[0] == 2 && plain && even && one && h->bytes == c->out_bytes &&
           h->bytes <= INT32_MAX && h->block <= INT32_MAX && blocks <= (c->in_bytes - HEADER) / 4;
}

#define WIDE 16 /* bytes that are copied at once, some of them for nothing */
#define HALF 8
#define LONG 256 /* bytes from which on the C library's copy is the faster one */

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
    static const unsigned char periods[HALF] = {0, 8, 8, 9, 8, 10, 12, 14}; /* of HALF and more */
    const unsigned char *from = to - back;
    if (length > LONG || room < length + WIDE) {
        for (size_t have = back, n; length; to += n, have += n, length -= n) {
            n = length < have ? length : have;
            memcpy(to, from, n);
        }
    } else if (back >= WIDE) {
        for (size_t k = 0; k < length; k += WIDE)
            memcpy(to + k, from + k, WIDE);
    } else {
        size_t k = 0;
        if (back < HALF)
            for (; k < HALF; k++)
                to[k] = from[k];
        for (back = back < HALF ? periods[back] : back; k < length; k += HALF)
            memcpy(to + k, to + k - back, HALF);
    }
}

/* A few literals and a short match that begins WIDE bytes or more before, as most are in noise: 18
 * bytes are read and 34 written at most. 0: something else, and nothing was done. */
static inline int lz4_short(const unsigned char *in, size_t *at, unsigned char *out, size_t *done)
{
    const unsigned token = in[*at], literals = token >> 4, length = token & 15;
    if (literals == 15 || length == 15)
        return 0;
    const unsigned char *behind = in + *at + 1 + literals;
    const size_t back = behind[0] | (size_t)behind[1] << 8, end = *done + literals;
    if (back < WIDE || back > end)
        return 0;
    memcpy(out + *done, in + *at + 1, WIDE);
    memcpy(out + end, out + end - back, WIDE);
    memcpy(out + end + WIDE, out + end + WIDE - back, 4);
    *at += 3 + literals;
    *done = end + length + 4;
    return 1;
}

/* The first `want` of a block's `whole` bytes, for which `out` has room; 0: damaged. liblz4 copies
 * the last match byte by byte then, which takes longer than decoding all. */
static int lz4_prefix(const unsigned char *in, size_t n, unsigned char *out, size_t want,
                      size_t whole)
{
    size_t at = 0, done = 0;
    while (done < want) {
        if (n - at >= 2 * WIDE && whole - done >= 3 * WIDE && lz4_short(in, &at, out, &done))
            continue;
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

/* The first `want` bytes of a stream of `whole`: *out is where they are, which is in the chunk
 * where they are stored as they are. */
static enum err blosc_stream(const struct codec_call *c, struct blosc_block *b, size_t whole,
                             size_t want, unsigned char *room, const unsigned char **out)
{
    if (b->at > c->in_bytes || c->in_bytes - b->at < 4)
        return CODEC_DAMAGED(c, "a block lies outside");
    const size_t n = get_little32(c->in + b->at);
    const unsigned char *in = c->in + b->at + 4;
    b->at += 4;
    if (n == 0 || n > c->in_bytes - b->at || n > whole)
        return CODEC_DAMAGED(c, "a block lies outside");
    b->at += n;
    *out = n == whole ? in : room;
    if (n != whole && !lz4_prefix(in, n, room, want, whole))
        return CODEC_DAMAGED(c, "a block cannot be decompressed");
    return ERR_OK;
}

/* Bytes [low, high) of a block that begins at `out`. */
static enum err block_part(const struct codec_call *c, const struct blosc_header *h,
                           struct blosc_block *b, size_t low, size_t high, unsigned char *out)
{
    const size_t whole = b->bytes / b->streams;
    const int shuffled = h->flags & SHUFFLED && h->item > 1;
    const size_t elements = b->bytes / h->item, first = low / h->item,
                 end = (high + h->item - 1) / h->item;
    const unsigned char *in[SHUFFLE_MOST];
    unsigned char *room = out;
    if (shuffled) {
        TRY(codec_spare(c->worker, 2, b->bytes));
        room = c->worker->spare[2];
        /* All streams to the end of the part; one stream: to the end of its last bytes. */
        high = b->streams > 1 ? end : (h->item - 1) * elements + end;
    }
    for (size_t k = 0; k < b->streams; k++) {
        const size_t begins = shuffled ? 0 : k * whole, until = high > begins ? high - begins : 0,
                     want = until < whole ? until : whole;
        TRY(blosc_stream(c, b, whole, want, room + k * whole, &in[k]));
        if (!shuffled && in[k] != room + k * whole)
            memcpy(out + begins, in[k], want);
    }
    if (!shuffled)
        return ERR_OK;
    for (size_t k = b->streams; k < h->item; k++) /* one stream holds all */
        in[k] = in[0] + k * elements;
    shuffle_decode(h->item, in, first, end, out);
    return ERR_OK;
}

enum err blosc_lz4_part(const struct codec_call *c, size_t begin, size_t end, int *done)
{
    struct blosc_header h;
    *done = blosc_header_read(c, &h);
    if (!*done)
        return ERR_OK;
    if (h.flags & COPIED) {
        if (c->in_bytes - HEADER < h.bytes)
            return CODEC_DAMAGED(c, "it ends early");
        memcpy(c->out + begin, c->in + HEADER + begin, end - begin);
        return ERR_OK;
    }
    for (size_t i = begin / h.block; i * h.block < end; i++) {
        const size_t from = i * h.block, left = h.bytes - from;
        struct blosc_block b = {left < h.block ? left : h.block, 1,
                                get_little32(c->in + HEADER + 4 * i)};
        if (!(h.flags & ONE) && left >= h.block)
            b.streams = h.item;
        TRY(block_part(c, &h, &b, begin > from ? begin - from : 0,
                       end - from < b.bytes ? end - from : b.bytes, c->out + from));
    }
    return ERR_OK;
}

#ifdef TP_BLOSC
#include <blosc.h>

#ifdef TP_BLOSC_LIBRARY
#include "base/jail/late.h"

static struct {
    __typeof__(blosc_cbuffer_validate) *blosc_cbuffer_validate;
    __typeof__(blosc_cbuffer_metainfo) *blosc_cbuffer_metainfo;
    __typeof__(blosc_getitem) *blosc_getitem;
    __typeof__(blosc_decompress_ctx) *blosc_decompress_ctx;
} blosc_calls;

static const struct late_symbol blosc_symbols[] = {LATE_SYMBOL(blosc_calls, blosc_cbuffer_validate),
                                                   LATE_SYMBOL(blosc_calls, blosc_cbuffer_metainfo),
                                                   LATE_SYMBOL(blosc_calls, blosc_getitem),
                                                   LATE_SYMBOL(blosc_calls, blosc_decompress_ctx)};
static struct late_library blosc_library =
    LATE_LIBRARY(TP_BLOSC_LIBRARY, TP_BLOSC_PATH, blosc_symbols, "libblosc",
                 "libblosc1 (Debian) or blosc (Fedora, Arch)");

int blosc_available(void)
{
    return late_open(&blosc_library);
}

const char *blosc_why(void)
{
    return late_why(&blosc_library);
}

/* Fails where this process has it not: it may be a child of one that did not open it. */
static enum err blosc_require(void)
{
    FAIL_IF(!late_open(&blosc_library) || !blosc_calls.blosc_decompress_ctx, ERR_UNSUPPORTED, "%s",
            *blosc_why() ? blosc_why() : "libblosc was not opened before its child began");
    return ERR_OK;
}

#define blosc_cbuffer_validate blosc_calls.blosc_cbuffer_validate
#define blosc_cbuffer_metainfo blosc_calls.blosc_cbuffer_metainfo
#define blosc_getitem          blosc_calls.blosc_getitem
#define blosc_decompress_ctx   blosc_calls.blosc_decompress_ctx
#else
int blosc_available(void)
{
    return 1;
}

const char *blosc_why(void)
{
    return "";
}

static enum err blosc_require(void)
{
    return ERR_OK;
}
#endif

enum err blosc_part(const struct codec_call *c, size_t begin, size_t end)
{
    size_t bytes = 0, item = 0;
    int flags, here = 0;
    if ((end - begin) * 2 <= c->out_bytes)
        TRY(blosc_lz4_part(c, begin, end, &here));
    if (here)
        return ERR_OK;
    TRY(blosc_require());
    if (blosc_cbuffer_validate(c->in, c->in_bytes, &bytes) < 0 || bytes != c->out_bytes)
        return codec_blosc(c);
    blosc_cbuffer_metainfo(c->in, &item, &flags);
    if (!item || bytes % item || bytes > INT32_MAX || (end - begin) * 2 > bytes)
        return codec_blosc(c);
    const int first = (int)(begin / item), n = (int)((end + item - 1) / item) - first;
    if (blosc_getitem(c->in, first, n, c->out + (size_t)first * item) != n * (int)item)
        return CODEC_DAMAGED(c, "it cannot be decompressed");
    return ERR_OK;
}

enum err codec_blosc(const struct codec_call *c)
{
    size_t bytes = 0;
    TRY(blosc_require());
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

const char *blosc_why(void)
{
    return "";
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
