/* The set of touched pages. */
#include <math.h>
#include <string.h>

#include "profiler/capture/recorders/io/pages.h"

static uint64_t pages_hash(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ull;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44dull;
    return x ^ x >> 33;
}

/* Picks the half of block `b` of `level` that is looked at. */
static uint64_t pages_half(uint64_t b, unsigned level)
{
    return pages_hash(b * 64 + level) & 1;
}

/* The page that stands for block `b` of 2^level pages. */
static uint64_t pages_chosen(uint64_t b, unsigned level)
{
    for (unsigned i = level; i-- > 0;)
        b = b << 1 | pages_half(b, i);
    return b;
}

/* The same of a block of which one page matters: 0, it stands for none, which two steps tell where
 * all of them take `level`. */
static int pages_is_chosen(uint64_t page, unsigned level)
{
    for (unsigned i = level; i-- > 0;)
        if (pages_half(page >> (i + 1), i) != (page >> i & 1))
            return 0;
    return 1;
}

static struct io_page *pages_slot(struct io_page *page, uint32_t room, uint64_t number)
{
    uint32_t at = (uint32_t)pages_hash(number) & (room - 1);
    while (page[at].number && page[at].number != number + 1)
        at = (at + 1) & (room - 1);
    return &page[at];
}

/* Into the other half of its memory: pages that are still chosen at `level`. */
static void pages_move(struct io_pages *s, struct io_page *to, uint32_t room, unsigned level)
{
    struct io_page *from = s->page;
    uint32_t old = s->room;
    memset(to, 0, room * sizeof *to);
    s->used = 0;
    for (uint32_t i = 0; i < old; i++) {
        uint64_t n = from[i].number - 1;
        if (!from[i].number || pages_chosen(n >> level, level) != n)
            continue;
        struct io_page *p = pages_slot(to, room, n);
        *p = from[i];
        s->used++;
    }
    s->page = to;
    s->spare = from;
    s->room = room;
    s->level = level;
}

static void pages_grow(struct io_pages *s, void *(*take)(size_t))
{
    uint32_t room = s->room * 4;
    if (room <= PAGES_MOST) {
        struct io_page *both = take(2 * room * sizeof *both);
        if (both) {
            pages_move(s, both, room, s->level);
            s->spare = both + room;
            return;
        }
    }
    while (s->used >= s->room / 4 * 3 && s->level < 40)
        pages_move(s, s->spare, s->room, s->level + 1);
}

static uint64_t pages_bits(uint64_t from, uint64_t to) /* bytes of a page, to > from */
{
    unsigned first = (unsigned)(from >> 6), last = (unsigned)((to - 1) >> 6);
    return (last == 63 ? ~0ull : (1ull << (last + 1)) - 1) & ~0ull << first;
}

void io_pages_add(struct io_pages *s, uint64_t offset, uint64_t bytes, void *(*take)(size_t))
{
    const uint64_t size = 1ull << PAGES_SHIFT;
    if (!bytes || offset + bytes < offset || offset + bytes > 1ull << 60)
        return;
    if (!s->page) {
        struct io_page *both = take(2 * PAGES_FIRST * sizeof *both);
        if (!both)
            return;
        *s = (struct io_pages){.page = both, .spare = both + PAGES_FIRST, .room = PAGES_FIRST};
    }
    uint64_t end = offset + bytes, first = offset >> PAGES_SHIFT, last = (end - 1) >> PAGES_SHIFT;
    while ((last - first) >> s->level >= PAGES_MOST) /* more than the set could ever hold */
        pages_move(s, s->spare, s->room, s->level + 1);
    if (first == last && !pages_is_chosen(first, s->level))
        return;
    for (uint64_t at = first; at <= last;) {
        unsigned level = s->level;
        uint64_t block = at >> level, n = pages_chosen(block, level), begin = n << PAGES_SHIFT;
        if (n >= first && n <= last) {
            struct io_page *p = pages_slot(s->page, s->room, n);
            uint64_t from = offset > begin ? offset - begin : 0;
            uint64_t to = end < begin + size ? end - begin : size;
            s->used += !p->number;
            p->number = n + 1;
            p->bits |= pages_bits(from, to);
        }
        at = (block + 1) << level;
        if (s->used >= s->room / 4 * 3)
            pages_grow(s, take);
    }
}

uint64_t io_pages_bytes(const struct io_pages *s, double *error)
{
    double sum = 0, partly = 0;
    *error = 0;
    if (!s->page)
        return UINT64_MAX;
    for (uint32_t i = 0; i < s->room; i++)
        if (s->page[i].number) {
            double part = __builtin_popcountll(s->page[i].bits) * 64.0;
            sum += part;
            partly += part * part;
        }
    double stands_for = (double)(1ull << s->level);
    if (s->level)
        *error = stands_for * sqrt(partly);
    return (uint64_t)(sum * stands_for);
}
