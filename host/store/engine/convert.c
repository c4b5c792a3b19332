/* Elements of one type to another, as C casts do; float16 both ways. */
#include <math.h>
#include <string.h>

#include "host/store/engine/parts.h"

#define BLOCK 1024 /* elements that are swapped and converted together */

static void swap_run(int bytes, const unsigned char *in, unsigned char *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int b = 0; b < bytes; b++)
            out[i * bytes + b] = in[i * bytes + bytes - 1 - b];
}

#define SWAP(type, function)                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                              \
        type v;                                                                                    \
        memcpy(&v, in + i * (int64_t)sizeof v, sizeof v);                                          \
        v = function(v);                                                                           \
        memcpy(out + i * (int64_t)sizeof v, &v, sizeof v);                                         \
    }

static void swap_elements(struct store_dtype t, const unsigned char *in, unsigned char *out,
                          int64_t n)
{
    const int bytes = t.kind == 'c' ? t.bytes / 2 : t.bytes;
    n *= t.bytes / bytes;
    if (bytes == 2)
        SWAP(uint16_t, __builtin_bswap16)
    else if (bytes == 4)
        SWAP(uint32_t, __builtin_bswap32)
    else if (bytes == 8)
        SWAP(uint64_t, __builtin_bswap64)
    else
        swap_run(bytes, in, out, n);
}

static float from_half(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    float v = exponent == 31 ? (fraction ? NAN : INFINITY)
              : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                             : ldexpf((float)fraction, -24);
    return h & 0x8000 ? -v : v;
}

#define TYPES(X, ...)                                                                              \
    X('i', 1, int8_t, __VA_ARGS__)                                                                 \
    X('i', 2, int16_t, __VA_ARGS__)                                                                \
    X('i', 4, int32_t, __VA_ARGS__)                                                                \
    X('i', 8, int64_t, __VA_ARGS__)                                                                \
    X('b', 1, uint8_t, __VA_ARGS__)                                                                \
    X('u', 1, uint8_t, __VA_ARGS__)                                                                \
    X('u', 2, uint16_t, __VA_ARGS__)                                                               \
    X('u', 4, uint32_t, __VA_ARGS__)                                                               \
    X('u', 8, uint64_t, __VA_ARGS__)                                                               \
    X('f', 4, float, __VA_ARGS__)                                                                  \
    X('f', 8, double, __VA_ARGS__)

/* The innermost loops; in and out are aligned copies or elements of arrays of any alignment. */
#define CAST(letter, size, type, target)                                                           \
    if (from.kind == letter && from.bytes == size) {                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type v;                                                                                \
            memcpy(&v, in + i * size, size);                                                       \
            out[i] = (target)v;                                                                    \
        }                                                                                          \
        return;                                                                                    \
    }

static void to_float(struct store_dtype from, const unsigned char *in, float *out, int64_t n)
{
    TYPES(CAST, float)
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, in + 2 * i, 2);
        out[i] = from_half(h);
    }
}

static void to_double(struct store_dtype from, const unsigned char *in, double *out, int64_t n)
{
    TYPES(CAST, double)
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, in + 2 * i, 2);
        out[i] = (double)from_half(h);
    }
}

int engine_converts(struct store_dtype from, struct store_dtype to)
{
    if (from.kind == to.kind && from.bytes == to.bytes)
        return 1;
    return to.kind == 'f' && (to.bytes == 4 || to.bytes == 8) && from.kind != 'c' &&
           (from.kind != 'f' || from.bytes <= 8);
}

void convert_run(struct store_dtype from, struct store_dtype to, const void *in, void *out,
                 int64_t n)
{
    const unsigned char *source = in;
    unsigned char *target = out, block[BLOCK * 16];
    if (from.kind == to.kind && from.bytes == to.bytes) {
        swap_elements(from, source, target, n);
        return;
    }
    for (int64_t i = 0, part; i < n; i += part) {
        part = n - i < BLOCK ? n - i : BLOCK;
        const unsigned char *piece = source + i * from.bytes;
        if (from.swap) {
            swap_elements(from, piece, block, part);
            piece = block;
        }
        if (to.bytes == 4)
            to_float(from, piece, (float *)out + i, part);
        else
            to_double(from, piece, (double *)out + i, part);
    }
}
