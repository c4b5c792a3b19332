/* HDF5's filter 6: numbers as their distance from the smallest one, in as few bits as the largest
 * distance needs; floats are multiples of a power of ten. */
#include <math.h>
#include <string.h>

#include "host/store/codec/codecs.h"

#define HEAD                                                                                       \
    21 /* bits of a number (4 bytes), bytes of the smallest (1), the smallest (8), unused */

static uint64_t bytes_number(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static void bytes_put(unsigned char *p, int bytes, uint64_t v, int big_endian)
{
    for (int i = 0; i < bytes; i++)
        p[big_endian ? bytes - 1 - i : i] = (unsigned char)(v >> (8 * i));
}

/* The bits of a float from its distance, in the precision that libhdf5 computes with. */
static uint64_t float_bits(int bytes, uint64_t distance, uint64_t least, int digits)
{
    uint64_t out = 0;
    if (bytes == 4) {
        const uint32_t narrow = (uint32_t)least;
        float min, v;
        memcpy(&min, &narrow, sizeof min);
        v = (float)(int32_t)distance / (float)pow(10, digits) + min;
        memcpy(&out, &v, sizeof v);
    } else {
        double min, v;
        memcpy(&min, &least, sizeof min);
        v = (double)(int64_t)distance / pow(10, digits) + min;
        memcpy(&out, &v, sizeof v);
    }
    return out;
}

/* Highest bit first; a number of ones alone is the fill value, 0. */
enum err codec_scale_offset(const struct codec_call *c)
{
    const int item = c->step->item, is_float = c->step->samples & SCALE_FLOAT,
              fills = c->step->samples & SCALE_FILLS, big = c->step->samples & SCALE_BIG;
    const size_t n = item ? c->out_bytes / (size_t)item : 0;
    if (!n || c->in_bytes < HEAD || c->out_bytes % (size_t)item)
        return CODEC_DAMAGED(c, "it ends early");
    const uint64_t bits = bytes_number(c->in, 4), least = bytes_number(c->in + 5, 8),
                   ones = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    if (bits > 8 * (uint64_t)item || (is_float && item < 4))
        return CODEC_DAMAGED(c, "its numbers have more bits than their type");
    if ((c->in_bytes - HEAD) < (n * bits + 7) / 8)
        return CODEC_DAMAGED(c, "it ends early");
    const unsigned char *in = c->in + HEAD;
    for (size_t i = 0, at = 0; i < n; i++) {
        uint64_t v = 0;
        if (bits == 8 * (uint64_t)item) { /* as they are */
            v = bytes_number(in + i * (size_t)item, item);
        } else {
            for (uint64_t left = bits; left; at++, left--)
                v = v << 1 | (in[at / 8] >> (7 - at % 8) & 1);
            v = fills && v == ones ? 0
                : is_float         ? float_bits(item, v, least, c->step->level)
                                   : v + least;
        }
        bytes_put(c->out + i * (size_t)item, item, v, big != 0);
    }
    return ERR_OK;
}
