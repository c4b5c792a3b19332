/* MBIRJAX's pixel partitions: a shuffled order dealt out to subsets, bit for bit as NumPy draws it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/recon/partition.h"

/* NumPy's legacy Mersenne Twister (MT19937): seeding, bounded integers and shuffles with the same
 * draws. */

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

/* Working memory: order[total], a permutation of 0..count with the repeats behind it; first[count]
 * and second[count], the row of a pixel and the row that repeats it (-1: none). */
struct draw {
    int64_t count, subsets, length, total;
    int32_t *order, *first, *second;
};

/* Fills the places that are left over with pixels drawn without replacement from all rows but the
 * last. NumPy draws a whole permutation whatever number is wanted, even none. */
static void repeat_some(struct draw *d, struct rng *r)
{
    const int64_t others = (d->subsets - 1) * d->length;
    const int64_t pool = others < d->count ? others : d->count;
    int32_t *chosen = d->first; /* not in use yet */
    for (int64_t i = 0; i < pool; i++)
        chosen[i] = (int32_t)i;
    rng_shuffle(r, chosen, pool);
    for (int64_t i = d->count; i < d->total; i++)
        d->order[i] = d->order[chosen[i - d->count]];
}

static void draw_order(struct draw *d, struct rng *r)
{
    for (int64_t i = 0; i < d->count; i++)
        d->order[i] = (int32_t)i;
    rng_shuffle(r, d->order, d->count);
    repeat_some(d, r);
}

/* Deals the pixels in ascending order to their rows, which sorts every row without comparing. */
static void partition_deal(struct draw *d, const int32_t *pixels, int32_t *out)
{
    int32_t *next = d->order; /* place of each row; reused when the order has been read */
    for (int64_t i = 0; i < d->count; i++)
        d->second[i] = -1;
    for (int64_t i = 0; i < d->total; i++)
        (i < d->count ? d->first : d->second)[d->order[i]] = (int32_t)(i / d->length);
    for (int64_t s = 0; s < d->subsets; s++)
        next[s] = (int32_t)(s * d->length);
    for (int64_t i = 0; i < d->count; i++) {
        out[next[d->first[i]]++] = pixels[i];
        if (d->second[i] >= 0)
            out[next[d->second[i]]++] = pixels[i];
    }
}

static enum err partition_shuffle(struct draw *d, const int32_t *pixels, struct rng *r,
                                  int32_t *out)
{
    void *scratch;
    TRY(mem_alloc("pixel partition scratch", (size_t)(d->total + 2 * d->count) * sizeof(int32_t),
                  &scratch));
    d->order = scratch;
    d->first = d->order + d->total;
    d->second = d->first + d->count;
    draw_order(d, r);
    partition_deal(d, pixels, out);
    mem_free(scratch);
    return ERR_OK;
}

enum err partition_create(const int32_t *pixels, int64_t count, int64_t subsets, struct rng *r,
                          struct partition *out)
{
    *out = (struct partition){0};
    FAIL_IF(subsets < 1, ERR_USAGE, "a partition needs at least 1 subset, not %lld",
            (long long)subsets);
    subsets = subsets > count ? count : subsets;
    subsets = subsets < 1 ? 1 : subsets;
    const int64_t length = (count + subsets - 1) / subsets, total = subsets * length;
    FAIL_IF(total > INT32_MAX, ERR_INPUT, "a partition of %lld pixels does not fit 32-bit indices",
            (long long)total);
    void *indices;
    TRY(mem_alloc("pixel partition", (size_t)total * sizeof(int32_t), &indices));
    *out = (struct partition){subsets, length, indices};
    if (subsets == 1) {
        memcpy(indices, pixels, (size_t)count * sizeof *pixels);
        return ERR_OK;
    }
    struct draw d = {.count = count, .subsets = subsets, .length = length, .total = total};
    enum err e = partition_shuffle(&d, pixels, r, indices);
    if (e)
        partition_free(out);
    return e;
}

void partition_free(struct partition *p)
{
    mem_free(p->indices);
    *p = (struct partition){0};
}

/* Partitions of whole orbits: back ends may project the four pixels of an orbit together. */
static int32_t quarter_turn(int64_t side, int32_t pixel)
{
    return (int32_t)((side - 1 - pixel % side) * side + pixel / side);
}

/* Moves the pixels of the first quadrant to the front of the list, and counts them. */
static int64_t turns_firsts(int64_t side, int32_t *pixels, int64_t count)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (2 * (pixels[i] / side) < side && 2 * (pixels[i] % side) < side)
            pixels[n++] = pixels[i];
    return n;
}

ARRAY_ORDER(ascending, int32_t, COMPARE(*x, *y));

/* Returns 1 where the ascending list has the quarter turn of each of its pixels. */
static int turns_fit(const struct volume *v, const int32_t *pixels, int64_t count)
{
    const int64_t side = v->cols;
    int whole = v->rows == side && side % 2 == 0 && count > 0;
    for (int64_t i = 0; i < count && whole; i++) {
        const int32_t turned = quarter_turn(side, pixels[i]);
        whole = bsearch(&turned, pixels, (size_t)count, sizeof *pixels, ascending) != NULL;
    }
    return whole;
}

static enum err turns_expand(int64_t side, struct partition *p)
{
    struct partition all = {p->subsets, 4 * p->length, NULL};
    const int64_t total = all.subsets * all.length;
    FAIL_IF(total > INT32_MAX, ERR_INPUT, "a partition of %lld pixels does not fit 32-bit indices",
            (long long)total);
    void *indices;
    TRY(mem_alloc("pixel partition", (size_t)total * sizeof(int32_t), &indices));
    all.indices = indices;
    for (int64_t i = 0; i < p->subsets * p->length; i++) {
        int32_t pixel = p->indices[i];
        for (int t = 0; t < 4; t++, pixel = quarter_turn(side, pixel))
            all.indices[4 * i + t] = pixel;
    }
    for (int64_t s = 0; s < all.subsets; s++)
        array_sort(all.indices + s * all.length, (size_t)all.length, sizeof *all.indices,
                   ascending);
    partition_free(p);
    *p = all;
    return ERR_OK;
}

enum err partition_create_turns(const struct volume *v, int64_t subsets, struct rng *r,
                                struct partition *out)
{
    int32_t *pixels;
    int64_t count;
    TRY(volume_pixels_inside(v, &pixels, &count));
    const int whole = turns_fit(v, pixels, count);
    if (whole)
        count = turns_firsts(v->cols, pixels, count);
    enum err e = partition_create(pixels, count, subsets, r, out);
    if (!e && whole)
        e = turns_expand(v->cols, out);
    if (e)
        partition_free(out);
    free(pixels);
    return e;
}
