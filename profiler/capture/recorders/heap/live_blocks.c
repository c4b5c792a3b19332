/* The table of sampled blocks that are alive: striped locks, chains by address, a filter in front.
 */
#include <errno.h>
#include <sched.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/heap/live_blocks.h"

enum {
    STRIPES = 256, /* each with its lock, its buckets and its share of the entries */
    STRIPE_ENTRIES = LIVE_BLOCKS / STRIPES,
    STRIPE_BUCKETS = LIVE_BUCKETS / STRIPES,
    SPINS = 100, /* a lock is held for some 50 ns */
    YIELDS = 50, /* its holder lost the CPU */
};

struct live_entry {
    uintptr_t address;
    uint64_t bytes;
    double weight;
    uint32_t heap;
    uint32_t next; /* index + 1 in the stripe, 0 ends; of the chain or of the free list */
};

struct live_stripe {
    _Alignas(64) int locked;
    uint32_t free; /* index + 1 of the first entry given back */
    uint32_t used; /* entries ever used, from the start of its share */
};

struct live_table {
    struct live_entry entries[STRIPES][STRIPE_ENTRIES];
    uint32_t heads[LIVE_BUCKETS]; /* index + 1 */
};

uint64_t live_filter[LIVE_BUCKETS / 64];
uint8_t live_near[LIVE_NEAR] __attribute__((aligned(4096)));
static struct live_stripe stripes[STRIPES];
static struct live_table *table;
static int used; /* a block was ever added since live_clear */

int live_start(void)
{
    if (table)
        return 0;
    table = raw_map(sizeof *table, 0);
    return table ? 0 : ENOMEM;
}

/* Several stripes may do this at once. */
static void near_add(uintptr_t address, int step)
{
    uint8_t *at = live_near_of((const void *)address), n = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (n != LIVE_MANY && !__atomic_compare_exchange_n(at, &n, (uint8_t)(n + step), 1,
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void live_keep(const void *p)
{
    __atomic_store_n(live_near_of(p), LIVE_MANY, __ATOMIC_RELAXED);
}

void live_clear(void)
{
    if (!used) /* as in most children of a shell; 64 KiB to look through otherwise */
        return;
    used = 0;
    for (size_t i = 0; i < LIVE_NEAR; i++) /* most pages were never written */
        if (live_near[i] && live_near[i] != LIVE_MANY)
            live_near[i] = 0;
    for (size_t i = 0; i < STRIPES; i++)
        stripes[i] = (struct live_stripe){0};
    for (size_t i = 0; i < LIVE_BUCKETS / 64; i++)
        live_filter[i] = 0;
    if (table && raw_clear(table, sizeof *table))
        return;
    for (size_t i = 0; table && i < LIVE_BUCKETS; i++)
        table->heads[i] = 0;
}

size_t live_bytes(void)
{
    return sizeof *table + sizeof live_filter + sizeof live_near + sizeof stripes;
}

static int stripe_lock(struct live_stripe *s)
{
    for (int i = 0; i < SPINS + YIELDS; i++) {
        if (!__atomic_exchange_n(&s->locked, 1, __ATOMIC_ACQUIRE))
            return 1;
        if (i >= SPINS)
            sched_yield();
    }
    return 0;
}

static void stripe_unlock(struct live_stripe *s)
{
    __atomic_store_n(&s->locked, 0, __ATOMIC_RELEASE);
}

/* Only the holder of the stripe writes its filter words: 64 buckets of one word are of one stripe.
 */
static void filter_mark(uint32_t bucket, int on)
{
    uint64_t *word = &live_filter[bucket / 64], bit = (uint64_t)1 << (bucket % 64);
    __atomic_store_n(word, on ? *word | bit : *word & ~bit, __ATOMIC_RELEASE);
}

/* The link that points to the entry, or to the chain's end. */
static uint32_t *stripe_find(uint32_t bucket, uintptr_t address, uint32_t heap)
{
    struct live_entry *entries = table->entries[bucket / STRIPE_BUCKETS];
    uint32_t *link = &table->heads[bucket];
    while (*link) {
        struct live_entry *e = &entries[*link - 1];
        if (e->address == address && e->heap == heap)
            break;
        link = &e->next;
    }
    return link;
}

static uint32_t new_entry(struct live_stripe *s, struct live_entry *entries)
{
    uint32_t i = s->free;
    if (i)
        s->free = entries[i - 1].next;
    else if (s->used < STRIPE_ENTRIES)
        i = ++s->used;
    return i;
}

enum live_added live_add(const struct live_block *block, struct live_block *stale)
{
    uint32_t bucket = live_bucket(block->address), heap = block->heap;
    struct live_stripe *s = &stripes[bucket / STRIPE_BUCKETS];
    struct live_entry *entries = table->entries[bucket / STRIPE_BUCKETS];
    enum live_added result = LIVE_NEW;
    if (!stripe_lock(s))
        return LIVE_LOST;
    uint32_t i = *stripe_find(bucket, block->address, heap);
    if (i) {
        struct live_entry *e = &entries[i - 1];
        *stale = (struct live_block){e->address, e->bytes, e->weight, e->heap};
        e->bytes = block->bytes;
        e->weight = block->weight;
        result = LIVE_REPLACED;
    } else if ((i = new_entry(s, entries))) {
        if (!__atomic_load_n(&used, __ATOMIC_RELAXED))
            __atomic_store_n(&used, 1, __ATOMIC_RELAXED);
        entries[i - 1] = (struct live_entry){block->address, block->bytes, block->weight, heap,
                                             table->heads[bucket]};
        table->heads[bucket] = i;
        filter_mark(bucket, 1);
        near_add(block->address, 1);
    } else {
        result = LIVE_LOST;
    }
    stripe_unlock(s);
    return result;
}

int live_take(uintptr_t address, uint32_t heap, struct live_block *out)
{
    uint32_t bucket = live_bucket(address);
    struct live_stripe *s = &stripes[bucket / STRIPE_BUCKETS];
    struct live_entry *entries = table->entries[bucket / STRIPE_BUCKETS];
    if (!stripe_lock(s))
        return -1;
    uint32_t *link = stripe_find(bucket, address, heap), i = *link;
    if (i) {
        struct live_entry *e = &entries[i - 1];
        *out = (struct live_block){e->address, e->bytes, e->weight, e->heap};
        *link = e->next;
        e->next = s->free;
        s->free = i;
        near_add(address, -1);
        if (!table->heads[bucket])
            filter_mark(bucket, 0);
    }
    stripe_unlock(s);
    return i != 0;
}
