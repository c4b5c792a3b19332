/* The trace's checksum (CRC-32C) and the 64-bit hash that makes ids of texts and stacks. */
#include <string.h>

#include "profiler/trace/writer.h"

/* CRC-32C (Castagnoli), reflected polynomial 0x82f63b78, four bits a step: 64 bytes of table, no
 * start-up work in a process that is not ours. */
static const uint32_t crc_nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

static uint32_t crc_plain(uint32_t crc, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ crc_nibble[crc & 15];
        crc = crc >> 4 ^ crc_nibble[crc & 15];
    }
    return crc;
}

#ifdef __x86_64__
/* a * b modulo the polynomial, bits reflected: bit 31 is x^0 */
static uint32_t crc_multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = b >> 1 ^ (b & 1 ? 0x82f63b78 : 0);
    }
    return product;
}

__attribute__((target("sse4.2"))) static uint64_t crc_word(uint64_t crc, const uint8_t *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return __builtin_ia32_crc32di(crc, w);
}

/* The instruction takes 3 cycles but one may start every cycle: three stripes side by side, joined
 * by x^(8 * bytes of a stripe). 64 KiB: 3.2 us, in one go 8, by nibbles 190. */
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
                                                            size_t n)
{
    uint64_t a = crc, b = 0, c = 0;
    size_t stripe = n / 24 * 8;
    if (stripe >= 512) {
        for (size_t i = 0; i < stripe; i += 8) {
            a = crc_word(a, p + i);
            b = crc_word(b, p + stripe + i);
            c = crc_word(c, p + 2 * stripe + i);
        }
        uint32_t shift = 1u << 31, square = 1u << 30; /* x^0, x^1 */
        for (size_t bits = stripe * 8; bits; bits >>= 1) {
            shift = bits & 1 ? crc_multiply(shift, square) : shift;
            square = crc_multiply(square, square);
        }
        b ^= crc_multiply(shift, (uint32_t)a);
        a = c ^ crc_multiply(shift, (uint32_t)b);
        p += 3 * stripe;
        n -= 3 * stripe;
    }
    for (; n >= 8; n -= 8, p += 8)
        a = crc_word(a, p);
    return crc_plain((uint32_t)a, p, n);
}

/* Before main and in signal handlers too: asks the processor itself, once, and this alone, which
 * takes 6 us in a virtual machine, for it traps. The compiler's __builtin_cpu_supports asks many
 * times at each start of a process; glibc's own answer would demand glibc 2.33. */
static int has_sse42(void)
{
    static volatile signed char known;
    if (!known) {
        unsigned a = 1, b, c = 0, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        known = c >> 20 & 1 ? 1 : -1;
    }
    return known > 0;
}
#endif

uint32_t trace_crc(uint32_t crc, const void *bytes, size_t n)
{
#ifdef __x86_64__
    if (has_sse42())
        return ~crc_sse42(~crc, bytes, n);
#endif
    return ~crc_plain(~crc, bytes, n);
}

static uint64_t hash_mix(uint64_t x)
{ /* finaliser of splitmix64 */
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

uint64_t trace_hash(const void *bytes, size_t n, uint64_t seed)
{
    const uint8_t *p = bytes;
    uint64_t h = hash_mix(seed ^ (uint64_t)n * 0x9e3779b97f4a7c15ull), w;
    if (n >= 64) { /* four at a time, for each waits for the one before: a stack of 50 frames */
        uint64_t lane[4] = {h, h + 1, h + 2, h + 3};
        for (; n >= 32; n -= 32, p += 32)
            for (int i = 0; i < 4; i++) {
                memcpy(&w, p + 8 * i, 8);
                lane[i] = hash_mix(lane[i] ^ w) + 0x9e3779b97f4a7c15ull;
            }
        h = hash_mix(lane[0]);
        for (int i = 1; i < 4; i++)
            h = hash_mix(h ^ lane[i]) + 0x9e3779b97f4a7c15ull;
    }
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&w, p, 8);
        h = hash_mix(h ^ w) + 0x9e3779b97f4a7c15ull;
    }
    if (n) {
        w = 0;
        memcpy(&w, p, n);
        h = hash_mix(h ^ w);
    }
    return h ? h : 1;
}
