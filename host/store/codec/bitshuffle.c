/* HDF5's filter 32008 (bitshuffle): in blocks of elements the first bits of all lie together, then
 * the second ones, and so on; each block is stored so, or as LZ4 or zstd with its size before it.
 * Written from the published description of the format. */
#include <string.h>

#include "host/store/codec/codecs.h"
#include "host/store/codec/vectors.h"

#define JOIN_BYTES    16384 /* put together before their bytes are interleaved: they stay in L1 */
#define JOIN_ELEMENTS 256   /* and a multiple of so many, which fill the registers */

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

static void bits_join_plain(const unsigned char *rows, size_t row, size_t groups,
                            unsigned char *out)
{
    for (size_t g = 0; g < groups; g++) {
        uint64_t x = 0;
        for (size_t j = 0; j < 8; j++)
            x |= (uint64_t)rows[j * row + g] << (8 * j);
        x = bits_transpose(x);
        for (size_t i = 0; i < 8; i++)
            out[8 * g + i] = (unsigned char)(x >> (8 * i));
    }
}

/* Registers with a row each: bit i of register j and bit j of register i change places. Shifts of 64-bit
 * lanes do for bytes, for the mask drops what crosses them. */
#define BITS_EXCHANGE(words, v, by, mask)                                                          \
    for (int k = 0; k < 8; k++)                                                                    \
        if (!(k & (by))) {                                                                         \
            const words t = ((v[k] >> (by)) ^ v[k + (by)]) & (uint64_t)(mask);                     \
            v[k + (by)] ^= t;                                                                      \
            v[k] ^= t << (by);                                                                     \
        }
#define BITS_EXCHANGE_ALL(words, v)                                                                \
    BITS_EXCHANGE(words, v, 4, 0x0f0f0f0f0f0f0f0fULL)                                              \
    BITS_EXCHANGE(words, v, 2, 0x3333333333333333ULL)                                              \
    BITS_EXCHANGE(words, v, 1, 0x5555555555555555ULL)

/* The bytes of eight registers, one of each in turn, within lanes of 16 bytes. */
#define BYTES_IN_TURN(low, high, v, w)                                                             \
    for (int k = 0; k < 4; k++) {                                                                  \
        w[2 * k] = low(v[k], v[k + 4]);                                                            \
        w[2 * k + 1] = high(v[k], v[k + 4]);                                                       \
    }

typedef uint64_t bits_words __attribute__((vector_size(VECTOR)));
#define WORDS_LOW(a, b)  ((bits_words)first_halves((vector)(a), (vector)(b)))
#define WORDS_HIGH(a, b) ((bits_words)last_halves((vector)(a), (vector)(b)))

static void bits_join_vector(const unsigned char *rows, size_t row, size_t groups,
                             unsigned char *out)
{
    size_t g = 0;
    for (; g + VECTOR <= groups; g += VECTOR) {
        bits_words v[8], w[8];
        for (size_t j = 0; j < 8; j++)
            memcpy(&v[j], rows + j * row + g, VECTOR);
        BITS_EXCHANGE_ALL(bits_words, v)
        BYTES_IN_TURN(WORDS_LOW, WORDS_HIGH, v, w)
        BYTES_IN_TURN(WORDS_LOW, WORDS_HIGH, w, v)
        BYTES_IN_TURN(WORDS_LOW, WORDS_HIGH, v, w)
        memcpy(out + 8 * g, w, sizeof w);
    }
    bits_join_plain(rows + g, row, groups - g, out + 8 * g);
}

#ifdef __x86_64__
#define WIDE 32
typedef unsigned char wide_vector __attribute__((vector_size(WIDE)));
typedef uint64_t wide_words __attribute__((vector_size(WIDE)));
typedef uint64_t wide_bytes __attribute__((vector_size(WIDE), aligned(1), may_alias));

/* Within both lanes of 16 bytes, as this processor does it at once; then lanes of two registers. */
#if defined(__clang__) || __GNUC__ >= 12
#define WIDE_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define WIDE_PICK(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif
#define WIDE_LOW(a, b)                                                                             \
    ((wide_words)WIDE_PICK((wide_vector)(a), (wide_vector)(b), 0, 32, 1, 33, 2, 34, 3, 35, 4, 36,  \
                           5, 37, 6, 38, 7, 39, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53,    \
                           22, 54, 23, 55))
#define WIDE_HIGH(a, b)                                                                            \
    ((wide_words)WIDE_PICK((wide_vector)(a), (wide_vector)(b), 8, 40, 9, 41, 10, 42, 11, 43, 12,   \
                           44, 13, 45, 14, 46, 15, 47, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, \
                           61, 30, 62, 31, 63))

/* Lanes hold 16 groups each: what they become lies 128 bytes apart. */
static void __attribute__((target("avx2")))
bits_join_avx2(const unsigned char *rows, size_t row, size_t groups, unsigned char *out)
{
    size_t g = 0;
    for (; g + WIDE <= groups; g += WIDE) {
        wide_words v[8], w[8];
        for (size_t j = 0; j < 8; j++)
            v[j] = *(const wide_bytes *)(rows + j * row + g); /* GCC copies in parts */
        BITS_EXCHANGE_ALL(wide_words, v)
        BYTES_IN_TURN(WIDE_LOW, WIDE_HIGH, v, w)
        BYTES_IN_TURN(WIDE_LOW, WIDE_HIGH, w, v)
        BYTES_IN_TURN(WIDE_LOW, WIDE_HIGH, v, w)
        for (size_t k = 0; k < 4; k++) {
            v[k] = WIDE_PICK(w[2 * k], w[2 * k + 1], 0, 1, 4, 5);
            v[k + 4] = WIDE_PICK(w[2 * k], w[2 * k + 1], 2, 3, 6, 7);
        }
        for (size_t k = 0; k < 8; k++)
            *(wide_bytes *)(out + 8 * g + WIDE * k) = v[k];
    }
    bits_join_vector(rows + g, row, groups - g, out + 8 * g);
}

static int bits_runs_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#endif

static int bits_runs_always(void)
{
    return 1;
}

const struct bits_way bits_ways[] = {
#ifdef __x86_64__
    {"avx2", bits_runs_avx2, bits_join_avx2},
#endif
    {"vectors", bits_runs_always, bits_join_vector},
    {"plain", bits_runs_always, bits_join_plain},
    {0},
};

/* n elements of `item` bytes; n is a multiple of 8. */
static void join_bits(const unsigned char *in, unsigned char *out, size_t n, size_t item)
{
    const struct bits_way *way = bits_ways;
    unsigned char bytes[JOIN_BYTES];
    const unsigned char *streams[JOIN_BYTES / JOIN_ELEMENTS];
    const size_t row = n / 8, /* bytes of the bits of one rank */
        most = JOIN_BYTES / item / JOIN_ELEMENTS * JOIN_ELEMENTS;
    while (!way->runs())
        way++;
    if (item == 1)
        way->join(in, row, row, out);
    for (size_t first = 0, count; item > 1 && most && first < n; first += count) {
        count = n - first < most ? n - first : most;
        for (size_t b = 0; b < item; b++) {
            streams[b] = bytes + b * count;
            way->join(in + 8 * b * row + first / 8, row, count / 8, bytes + b * count);
        }
        shuffle_decode(item, streams, 0, count, out + first * item);
    }
    for (size_t g = 0; !most && g < row; g++) /* elements of more than 64 bytes */
        for (size_t b = 0; b < item; b++) {
            way->join(in + 8 * b * row + g, row, 1, bytes);
            for (size_t i = 0; i < 8; i++)
                out[(8 * g + i) * item + b] = bytes[i];
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
