/* Remembers the holder of a semaphore that is used as a lock: a small table that forgets, written
 * without locks.
 */
#include "profiler/capture/recorders/locks/locks.h"

enum { OWNERS = 4096, TID_BITS = 22 }; /* a thread's number in Linux is below 2^22 */
#define TID_MASK ((1ull << TID_BITS) - 1)

__thread struct locks_thread locks_thread;

static uint64_t owners[OWNERS]; /* upper bits of the address's hash, thread */

static uint64_t owners_hash(const volatile void *address)
{
    uint64_t h = (uintptr_t)address * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

void locks_took(const volatile void *semaphore)
{
    uint64_t h = owners_hash(semaphore);
    __atomic_store_n(&owners[h % OWNERS], (h & ~TID_MASK) | locks_thread.tid, __ATOMIC_RELAXED);
}

void locks_released(const volatile void *semaphore)
{
    uint64_t h = owners_hash(semaphore), *row = &owners[h % OWNERS];
    if (((__atomic_load_n(row, __ATOMIC_RELAXED) ^ h) & ~TID_MASK) == 0)
        __atomic_store_n(row, 0, __ATOMIC_RELAXED);
}

uint32_t locks_taker(const volatile void *semaphore)
{
    uint64_t h = owners_hash(semaphore),
             seen = __atomic_load_n(&owners[h % OWNERS], __ATOMIC_RELAXED);
    return ((seen ^ h) & ~TID_MASK) == 0 ? (uint32_t)(seen & TID_MASK) : 0;
}
