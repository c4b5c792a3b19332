/* The sampled blocks that are alive, by address: fixed memory, a filter in front that makes the
 * free of all other blocks cost a load or two. No call blocks: a lock that is not had within some
 * hundred tries is counted by the caller as a loss. Async-signal-safe. */
#ifndef TP_CAPTURE_RECORDERS_HEAP_LIVE_BLOCKS_H
#define TP_CAPTURE_RECORDERS_HEAP_LIVE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Blocks: at 512 KiB each, 64 GiB of live heap. */
#define LIVE_BUCKET_BITS 17
#define LIVE_BUCKETS     (1u << LIVE_BUCKET_BITS)
#define LIVE_BLOCKS      (1u << 17)

struct live_block {
    uintptr_t address;
    uint64_t bytes;
    double weight; /* as in trace_alloc */
    uint32_t heap; /* enum trace_heap; part of the key */
};

/* How many blocks whose addresses end alike; LIVE_MANY stays. Blocks that lie beside each other
 * share cache lines here, and the place costs two instructions: this is on the way of each free. */
#define LIVE_NEAR (1u << 16)
#define LIVE_MANY 255
extern uint8_t live_near[LIVE_NEAR] __attribute__((visibility("hidden")));
static inline uint8_t *live_near_of(const void *p)
{
    return &live_near[(uint16_t)((uintptr_t)p >> 4)];
}

/* Bit b: bucket b may hold something. Another hash: few addresses pass both by mistake. */
extern uint64_t live_filter[LIVE_BUCKETS / 64] __attribute__((visibility("hidden")));

static inline uint32_t live_bucket(uintptr_t address)
{
    return (uint32_t)(((address >> 4) * 0x9E3779B97F4A7C15u) >> (64 - LIVE_BUCKET_BITS));
}

/* 0: no sampled block is at `p`, nor one of live_keep. */
static inline int live_is_near(const void *p)
{
    return __atomic_load_n(live_near_of(p), __ATOMIC_RELAXED);
}
/* 0: no sampled block is at `p`, where one is near. */
static inline int live_maybe(const void *p)
{
    uint32_t b = live_bucket((uintptr_t)p);
    return (int)(__atomic_load_n(&live_filter[b / 64], __ATOMIC_RELAXED) >> (b % 64) & 1);
}

void live_keep(const void *p); /* live_is_near for ever */

int live_start(void);  /* once, before the others; 0 or errno */
void live_clear(void); /* in a forked child: forgets all, locks of threads that are gone included */
size_t live_bytes(void); /* of the table, all of it touched */

enum live_added {
    LIVE_LOST, /* table full or lock not had */
    LIVE_NEW,
    LIVE_REPLACED /* *stale was at that address: its free was not seen */
};
enum live_added live_add(const struct live_block *block, struct live_block *stale);
/* Takes the block out: 1; 0 when there is none, -1 when the lock was not had. */
int live_take(uintptr_t address, uint32_t heap, struct live_block *out);

#endif
