/* Small codecs that take less code than a library's interface: LZF (h5py's), PackBits, LZW and
 * samples of few bits (TIFF's). */
#include <string.h>

#include "host/store/codec/codecs.h"

/* A byte below 32: that many and one literals; else a copy: 3 bits of length, 13 of distance. */
enum err codec_lzf(const struct codec_call *c)
{
    size_t at = 0, done = 0;
    while (at < c->in_bytes) {
        size_t control = c->in[at++];
        if (control < 32) {
            size_t n = control + 1;
            if (n > c->in_bytes - at || n > c->out_bytes - done)
                return CODEC_DAMAGED(c, "literals lie outside");
            memcpy(c->out + done, c->in + at, n);
            at += n;
            done += n;
            continue;
        }
        size_t n = control >> 5;
        if (n == 7)
            n += at < c->in_bytes ? c->in[at++] : 0;
        n += 2;
        if (at >= c->in_bytes)
            return CODEC_DAMAGED(c, "it ends early");
        size_t distance = ((control & 31) << 8 | c->in[at++]) + 1;
        if (distance > done || n > c->out_bytes - done)
            return CODEC_DAMAGED(c, "a copy lies outside");
        for (; n; n--, done++)
            c->out[done] = c->out[done - distance];
    }
    return done == c->out_bytes ? ERR_OK : CODEC_DAMAGED(c, "it ends early");
}

enum err codec_packbits(const struct codec_call *c)
{
    size_t at = 0, done = 0;
    while (done < c->out_bytes && at < c->in_bytes) {
        int control = (signed char)c->in[at++];
        size_t n = control >= 0 ? (size_t)control + 1 : (size_t)(1 - control);
        if (control == -128)
            continue;
        if (n > c->out_bytes - done || at + (control >= 0 ? n : 1) > c->in_bytes)
            return CODEC_DAMAGED(c, "a run lies outside");
        if (control >= 0)
            memcpy(c->out + done, c->in + at, n);
        else
            memset(c->out + done, c->in[at], n);
        at += control >= 0 ? n : 1;
        done += n;
    }
    return done == c->out_bytes ? ERR_OK : CODEC_DAMAGED(c, "it ends early");
}

#define LZW_CLEAR 256
#define LZW_END   257
#define LZW_CODES 4096

/* A string is where it was written first: its place and length in the output. */
struct lzw {
    size_t at[LZW_CODES];
    unsigned length[LZW_CODES];
};

enum err codec_lzw(const struct codec_call *c)
{
    struct lzw t;
    unsigned width = 9, next = LZW_END + 1, before = LZW_CLEAR;
    size_t bit = 0, done = 0, before_at = 0;
    while (done < c->out_bytes) {
        if (bit + width > c->in_bytes * 8)
            return CODEC_DAMAGED(c, "it ends early");
        unsigned code = 0;
        for (unsigned i = 0; i < 3; i++) /* highest bit first */
            code = code << 8 | (bit / 8 + i < c->in_bytes ? c->in[bit / 8 + i] : 0);
        code = code >> (24 - width - bit % 8) & ((1u << width) - 1);
        bit += width;
        if (code == LZW_END)
            break;
        if (code == LZW_CLEAR) {
            width = 9;
            next = LZW_END + 1;
            before = LZW_CLEAR;
            continue;
        }
        size_t from = 0, n = 1, begin = done;
        if (before != LZW_CLEAR && next < LZW_CODES) { /* the string before and this one's first */
            t.at[next] = before_at;
            t.length[next] = (before < 256 ? 1 : t.length[before]) + 1;
            next++;
        }
        if (code >= 256) {
            if (code >= next)
                return CODEC_DAMAGED(c, "a code is not in the table");
            from = t.at[code];
            n = t.length[code];
        }
        if (n > c->out_bytes - done) /* the last row may be padded */
            n = c->out_bytes - done;
        if (code < 256)
            c->out[done++] = (unsigned char)code;
        else
            for (; n; n--, done++)
                c->out[done] = c->out[from++];
        before = code;
        before_at = begin;
        if (next + 1 >= 1u << width && width < 12)
            width++;
    }
    return done == c->out_bytes ? ERR_OK : CODEC_DAMAGED(c, "it ends early");
}

/* Bytes of a row of samples as they are stored: it ends with a whole byte. */
static size_t unpack_row(const struct codec_step *s, size_t *samples)
{
    *samples = (size_t)s->row * (size_t)s->samples;
    return (*samples * (size_t)s->item + 7) / 8;
}

size_t unpack_stored(const struct codec_step *s, size_t out_bytes)
{
    size_t samples;
    const size_t stored = unpack_row(s, &samples), row = samples * (s->item > 16  ? 4
                                                                    : s->item > 8 ? 2
                                                                                  : 1);
    return !row || out_bytes % row ? 0 : out_bytes / row * stored;
}

/* Three bytes become four, in the file's order. */
static void unpack_triples(const struct codec_call *c, size_t samples)
{
    const int big = c->step->swap;
    for (size_t i = 0; i < samples; i++) {
        const unsigned char *in = c->in + 3 * i;
        const uint32_t v =
            (uint32_t)in[big ? 2 : 0] | (uint32_t)in[1] << 8 | (uint32_t)in[big ? 0 : 2] << 16;
        memcpy(c->out + 4 * i, &v, sizeof v);
    }
}

/* Highest bit first; samples of more than 8 bits become 16 bits, of 24 bits 32. */
enum err codec_unpack(const struct codec_call *c)
{
    const unsigned bits = (unsigned)c->step->item, mask = (1u << bits) - 1;
    size_t samples, done = 0;
    const size_t stored = unpack_row(c->step, &samples),
                 wanted = unpack_stored(c->step, c->out_bytes);
    if (!wanted || c->in_bytes < wanted)
        return CODEC_DAMAGED(c, "rows are incomplete");
    if (bits == 24) {
        unpack_triples(c, c->out_bytes / 4);
        return ERR_OK;
    }
    for (size_t row = 0; row < wanted; row += stored) {
        unsigned have = 0, window = 0; /* bits that are not taken yet */
        for (size_t i = 0, at = row; i < samples; i++) {
            while (have < bits) {
                window = window << 8 | c->in[at++];
                have += 8;
            }
            have -= bits;
            const uint16_t v = (uint16_t)(window >> have & mask);
            if (bits > 8)
                memcpy(c->out + done, &v, sizeof v);
            else
                c->out[done] = (unsigned char)v;
            done += bits > 8 ? sizeof v : 1;
        }
    }
    return ERR_OK;
}
