/* Filters that keep the number of bytes, and checksums. */
#include <string.h>

#include "host/store/codec/codecs.h"
#include "host/store/codec/vectors.h"

/* HDF5's Fletcher: sums of 16-bit big-endian words, and of the sums. */
static uint32_t fletcher32_sum(const unsigned char *data, size_t bytes)
{
    uint32_t a = 0, b = 0;
    size_t words = bytes / 2, at = 0;
    while (words) {
        size_t n = words > 360 ? 360 : words; /* sums stay below 2^32 */
        words -= n;
        for (; n; n--, at += 2) {
            a += (uint32_t)data[at] << 8 | data[at + 1];
            b += a;
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    if (bytes % 2) {
        a += (uint32_t)data[at] << 8;
        b += a;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

enum err codec_fletcher32(const struct codec_call *c)
{
    uint32_t stored, sum = fletcher32_sum(c->in, c->out_bytes);
    memcpy(&stored, c->in + c->out_bytes, sizeof stored);
    /* Old versions of HDF5 wrote the bytes of each half in the other order. */
    uint32_t old = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
    if (stored != sum && stored != old)
        return CODEC_DAMAGED(c, "the checksum differs");
    memcpy(c->out, c->in, c->out_bytes);
    return ERR_OK;
}

uint32_t crc32c(const void *in, size_t n)
{
    static uint32_t table[256];
    static int ready;
    if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) { /* the same values from every thread */
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t v = i;
            for (int k = 0; k < 8; k++)
                v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
            __atomic_store_n(&table[i], v, __ATOMIC_RELAXED);
        }
        __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    }
    uint32_t sum = ~0u;
    for (const unsigned char *p = in, *end = p + n; p < end; p++)
        sum = table[(sum ^ *p) & 255] ^ sum >> 8;
    return ~sum;
}

enum err codec_crc32c(const struct codec_call *c)
{
    uint32_t stored;
    memcpy(&stored, c->in + c->out_bytes, sizeof stored);
    if (stored != crc32c(c->in, c->out_bytes))
        return CODEC_DAMAGED(c, "the checksum differs");
    memcpy(c->out, c->in, c->out_bytes);
    return ERR_OK;
}

/* TIFF's predictor 3: the bytes of a row's floats apart, highest first, and differences of them. */
static void predict_float(const struct codec_call *c, size_t row_bytes)
{
    const size_t item = (size_t)c->step->item, n = row_bytes / item,
                 stride = (size_t)c->step->samples;
    for (size_t at = 0; at + row_bytes <= c->out_bytes; at += row_bytes) {
        unsigned char *sums = (unsigned char *)(uintptr_t)(c->in + at);
        for (size_t i = stride; i < row_bytes; i++)
            sums[i] = (unsigned char)(sums[i] + sums[i - stride]);
        for (size_t i = 0; i < n; i++)
            for (size_t b = 0; b < item; b++)
                c->out[at + i * item + b] = sums[(item - 1 - b) * n + i];
    }
}

/* Sums of one value after the other, a register at a time: within it by sums of neighbours, of pairs and so on. Only one
 * addition waits for the register before. Returns how many are done; *last is the sum so far. */
#define SUM_REGISTERS(type)                                                                        \
    static size_t sum_##type(const unsigned char *from, unsigned char *row, size_t n, type *last)  \
    {                                                                                              \
        typedef type lanes __attribute__((vector_size(VECTOR)));                                   \
        enum { LANES = VECTOR / sizeof(type) };                                                    \
        lanes before = {0}, sum;                                                                   \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES) {                                                       \
            memcpy(&sum, from + i * sizeof(type), sizeof sum);                                     \
            if (sizeof(type) <= 1)                                                                 \
                sum += (lanes)moved_up((vector)sum, 1);                                            \
            if (sizeof(type) <= 2)                                                                 \
                sum += (lanes)moved_up((vector)sum, 2);                                            \
            if (sizeof(type) <= 4)                                                                 \
                sum += (lanes)moved_up((vector)sum, 4);                                            \
            sum += (lanes)moved_up((vector)sum, 8);                                                \
            const type all = sum[LANES - 1];                                                       \
            sum += before;                                                                         \
            before += all;                                                                         \
            memcpy(row + i * sizeof(type), &sum, sizeof sum);                                      \
        }                                                                                          \
        *last = before[0];                                                                         \
        return i;                                                                                  \
    }
SUM_REGISTERS(uint8_t)
SUM_REGISTERS(uint16_t)
SUM_REGISTERS(uint32_t)
SUM_REGISTERS(uint64_t)

/* Each sum goes on in a register, not through memory. */
#define SUM_UP(type, swapped)                                                                      \
    for (size_t k = 0; k < stride; k++) {                                                          \
        type sum = 0;                                                                              \
        size_t i = k;                                                                              \
        if (stride == 1 && !c->step->swap)                                                         \
            i = sum_##type(from, row, n, &sum);                                                    \
        for (; i < n; i += stride) {                                                               \
            type value;                                                                            \
            memcpy(&value, from + i * sizeof value, sizeof value);                                 \
            sum = (type)(sum + (c->step->swap ? (type)swapped(value) : value));                    \
            value = c->step->swap ? (type)swapped(sum) : sum;                                      \
            memcpy(row + i * sizeof value, &value, sizeof value);                                  \
        }                                                                                          \
    }
#define SAME(x) (x)

enum err codec_predict(const struct codec_call *c)
{
    const size_t item = (size_t)c->step->item, stride = (size_t)c->step->samples,
                 n = (size_t)c->step->row * stride, row_bytes = n * item;
    if (!row_bytes || c->out_bytes % row_bytes)
        return CODEC_DAMAGED(c, "rows are incomplete");
    if (c->step->codec == CODEC_PREDICT_FLOAT) {
        /* its input is summed in place: a spare block of the pipeline, never a file's own bytes */
        unsigned char *copy = c->worker->spare[0];
        if (c->in != copy && c->in != c->worker->spare[1])
            return FAIL(ERR_UNSUPPORTED, "predictor 3 without compression");
        predict_float(c, row_bytes);
        return ERR_OK;
    }
    for (size_t at = 0; at < c->out_bytes; at += row_bytes) {
        const unsigned char *from = c->in + at;
        unsigned char *row = c->out + at;
        if (item == 1)
            SUM_UP(uint8_t, SAME)
        else if (item == 2)
            SUM_UP(uint16_t, __builtin_bswap16)
        else if (item == 4)
            SUM_UP(uint32_t, __builtin_bswap32)
        else
            SUM_UP(uint64_t, __builtin_bswap64)
    }
    return ERR_OK;
}
