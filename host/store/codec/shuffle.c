/* Shuffled bytes: all first bytes of elements lie together, then all second bytes, ... */
#include <string.h>

#include "host/store/codec/codecs.h"
#include "host/store/codec/vectors.h"

#define BLOCK 4096 /* elements: they stay in the first cache */

/* Elements from `first` on, 16 at once: the first half of all registers is interleaved with the
 * second one, log2(item) times. Returns where it ended; the compiler knows the item. */
static inline __attribute__((always_inline)) size_t
shuffle_interleave(const size_t item, const unsigned char *const *in, size_t first, size_t end,
                   unsigned char *out)
{
    for (; first + VECTOR <= end; first += VECTOR) {
        vector v[8], next[8];
#pragma GCC unroll 8
        for (size_t b = 0; b < item; b++)
            memcpy(&v[b], in[b] + first, VECTOR);
#pragma GCC unroll 3
        for (size_t round = 1; round < item; round *= 2) {
#pragma GCC unroll 4
            for (size_t k = 0; k < item / 2; k++) {
                next[2 * k] = first_halves(v[k], v[k + item / 2]);
                next[2 * k + 1] = last_halves(v[k], v[k + item / 2]);
            }
            memcpy(v, next, item * VECTOR);
        }
        memcpy(out + first * item, v, item * VECTOR);
    }
    return first;
}

static void shuffle_scatter(const unsigned char *from, size_t item, size_t first, size_t end,
                            unsigned char *to)
{
    for (size_t i = first; i < end; i++)
        to[i * item] = from[i];
}

void shuffle_decode(size_t item, const unsigned char *const *in, size_t first, size_t end,
                    unsigned char *out)
{
    if (item == 2)
        first = shuffle_interleave(2, in, first, end, out);
    else if (item == 4)
        first = shuffle_interleave(4, in, first, end, out);
    else if (item == 8)
        first = shuffle_interleave(8, in, first, end, out);
    for (size_t last; first < end; first = last) {
        last = first + BLOCK < end ? first + BLOCK : end;
        for (size_t b = 0; b < item; b++)
            shuffle_scatter(in[b], item, first, last, out + b);
    }
}

/* The remainder of the last element stays unchanged. */
enum err codec_shuffle(const struct codec_call *c)
{
    const size_t item = (size_t)c->step->item, n = item ? c->out_bytes / item : 0;
    const unsigned char *in[SHUFFLE_MOST];
    for (size_t b = 0; b < item && item <= SHUFFLE_MOST; b++)
        in[b] = c->in + b * n;
    if (item <= SHUFFLE_MOST)
        shuffle_decode(item, in, 0, n, c->out);
    else
        for (size_t b = 0; b < item; b++)
            shuffle_scatter(c->in + b * n, item, 0, n, c->out + b);
    memcpy(c->out + n * item, c->in + n * item, c->out_bytes - n * item);
    return ERR_OK;
}

void shuffle_encode(int item_bytes, const void *in, size_t bytes, void *out)
{
    const size_t item = (size_t)item_bytes, n = item ? bytes / item : 0;
    const unsigned char *from = in;
    unsigned char *to = out;
    for (size_t b = 0; b < item; b++)
        for (size_t i = 0; i < n; i++)
            to[b * n + i] = from[i * item + b];
    memcpy(to + n * item, from + n * item, bytes - n * item);
}
