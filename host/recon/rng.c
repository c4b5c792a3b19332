/* NumPy's legacy Mersenne Twister (MT19937): seeding, bounded integers and shuffles with the same
 * draws. */
#include "host/recon/rng.h"

#define WORDS  624
#define MIDDLE 397

/* MT19937 as NumPy's legacy RandomState seeds and steps it (operators.md 9 in MBIRJAX's terms). */
void rng_seed(struct rng *r, uint32_t seed)
{
    r->key[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++)
        r->key[i] = 1812433253u * (r->key[i - 1] ^ (r->key[i - 1] >> 30)) + i;
    r->position = WORDS;
}

static void rng_refill(struct rng *r)
{
    for (int i = 0; i < WORDS; i++) {
        uint32_t y = (r->key[i] & 0x80000000u) | (r->key[(i + 1) % WORDS] & 0x7fffffffu);
        r->key[i] = r->key[(i + MIDDLE) % WORDS] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    r->position = 0;
}

static uint32_t rng_next(struct rng *r)
{
    if (r->position == WORDS)
        rng_refill(r);
    uint32_t y = r->key[r->position++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

uint32_t rng_interval(struct rng *r, uint32_t max)
{
    if (max == 0)
        return 0;
    const uint32_t mask = UINT32_MAX >> __builtin_clz(max);
    for (;;) {
        uint32_t value = rng_next(r) & mask;
        if (value <= max)
            return value;
    }
}

void rng_shuffle(struct rng *r, int32_t *a, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        uint32_t j = rng_interval(r, (uint32_t)i);
        int32_t kept = a[j];
        a[j] = a[i];
        a[i] = kept;
    }
}
