#include "profiler/trace/writer.h"

#include <string.h>

/* CRC-32C (Castagnoli), reflected polynomial 0x82f63b78, four bits a step: 64 bytes of table, no
 * start-up work in a process that is not ours. */
static const uint32_t crc_nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

uint32_t trace_crc(uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ crc_nibble[crc & 15];
        crc = crc >> 4 ^ crc_nibble[crc & 15];
    }
    return ~crc;
}

static uint64_t mix(uint64_t x)
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
    uint64_t h = mix(seed ^ (uint64_t)n * 0x9e3779b97f4a7c15ull), w;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&w, p, 8);
        h = mix(h ^ w) + 0x9e3779b97f4a7c15ull;
    }
    if (n) {
        w = 0;
        memcpy(&w, p, n);
        h = mix(h ^ w);
    }
    return h ? h : 1;
}
