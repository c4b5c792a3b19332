/* Picks the blocks to record from those that the hooks of malloc report, and follows them. */
#include <errno.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/recorders/heap/heap.h"

static volatile int recording; /* allocations */
static void (*recorded)(void); /* atomic */

/* A record counts for at least and at most this, ns: it may have waited for a CPU. */
#define HEAP_COST_LEAST 500
#define HEAP_COST_MOST  200000

enum { DOUBLINGS = 20 };
static int doublings;                     /* of all distances, to keep the rate */
static uint64_t bucket_until, cost_since; /* ns */

int heap_recording(void)
{
    return recording;
}

void heap_record(int on)
{
    recording = on;
}

void heap_rate_reset(void)
{
    doublings = 0;
    bucket_until = 0;
}

int heap_is_thinned(void)
{
    return __atomic_load_n(&doublings, __ATOMIC_RELAXED) > 0;
}

void heap_after_records(void (*call)(void))
{
    __atomic_store_n(&recorded, call, __ATOMIC_RELEASE);
}

void heap_recorded(void)
{
    void (*call)(void) = __atomic_load_n(&recorded, __ATOMIC_ACQUIRE);
    if (call)
        call();
}

/* A bucket that every record fills by HEAP_SHARE times its cost and time empties. Updates that
 * threads lose to each other do no harm. */
static void heap_limit_share(uint64_t now, uint64_t cost)
{
    uint64_t full = __atomic_load_n(&bucket_until, __ATOMIC_RELAXED);
    int doubled = __atomic_load_n(&doublings, __ATOMIC_RELAXED);
    if (cost < HEAP_COST_LEAST)
        cost = HEAP_COST_LEAST;
    if (cost > HEAP_COST_MOST)
        cost = HEAP_COST_MOST;
    uint64_t spent = __atomic_add_fetch(&cost_since, cost, __ATOMIC_RELAXED);
    if (full <= now && doubled)
        __atomic_store_n(&doublings, doubled - 1, __ATOMIC_RELAXED);
    full = (full > now ? full : now) + cost * HEAP_SHARE;
    __atomic_store_n(&bucket_until, full, __ATOMIC_RELAXED);
    if (full - now > HEAP_BURST * HEAP_SHARE && spent >= HEAP_BURST / 50 && doubled < DOUBLINGS) {
        __atomic_store_n(&doublings, doubled + 1, __ATOMIC_RELAXED);
        __atomic_store_n(&cost_since, 0, __ATOMIC_RELAXED);
    }
}

/* Returns the weight to record a block with, 0 to leave it out. */
static double block_weight(struct capture_thread *t, size_t bytes, enum trace_heap heap)
{
    int doubled = __atomic_load_n(&doublings, __ATOMIC_RELAXED);
    double mean = capture.config.alloc_mean * (double)(1ull << doubled);
    double calls = heap_counted(&heap_thread.alloc, t, bytes, mean);
    heap_called(t, HEAP_MALLOCS, calls);
    if (heap == TRACE_MALLOC &&
        __atomic_load_n(&heap_is_off[HEAP_GROUP_MALLOC], __ATOMIC_RELAXED)) {
        heap_called(t, HEAP_FREES, calls); /* about: none is recorded that its free could tell */
        return 0;
    }
    return bytes >= HEAP_LARGE << doubled ? (double)bytes : calls * (double)bytes;
}

/* A block without room in the table is recorded as freed at once: it counts as allocated, not as
 * live. */
static void block_record(struct capture_thread *t, const struct live_block *b, const void *caller)
{
    struct live_block stale;
    enum live_added added = live_add(b, &stale);
    if (added == LIVE_REPLACED)
        heap_put_free(t, &stale, 0);
    heap_put_alloc(t, b, caller);
    if (added == LIVE_LOST) {
        heap_put_free(t, b, 0);
        trace_lost(&capture.writer, TRACE_LOST_ALLOCATIONS, 1);
    }
}

void heap_allocated(void *p, size_t bytes, enum trace_heap heap, const void *caller)
{
    struct heap_countdown *c = &heap_thread.alloc;
    if (!p || heap_sleeps_on(c, bytes, capture.config.alloc_mean)) /* NULL: nothing was allocated */
        return;
    int saved = errno, off = __atomic_load_n(&heap_is_off[HEAP_GROUP_MALLOC], __ATOMIC_RELAXED);
    struct capture_thread *t = recording || off || asleep.on ? capture_enter() : NULL;
    if (t) {
        struct live_block b = {(uintptr_t)p, bytes, block_weight(t, bytes, heap), heap};
        if (b.weight > 0) {
            const uint64_t begin = thread_poll_cpu(0);
            block_record(t, &b, caller);
            heap_recorded();
            const uint64_t spent = thread_cost_add(t, TRACE_PART_ALLOC, begin);
            heap_limit_share(trace_now(), spent);
        }
        capture_leave(t, TRACE_PART_ALLOC, 0);
    } else if (bytes < HEAP_LARGE) {
        heap_idle(c);
    }
    errno = saved;
}

static int block_take(void *p, enum trace_heap heap, struct live_block *out)
{
    int taken = live_take((uintptr_t)p, heap, out);
    if (taken < 0)
        trace_lost(&capture.writer, TRACE_LOST_ALLOCATIONS, 1);
    return taken > 0;
}

void heap_freed(void *p, enum trace_heap heap)
{
    struct live_block b;
    int saved = errno;
    struct capture_thread *t = recording ? capture_enter() : NULL;
    if (t) {
        uint64_t entered = 0;
        if (block_take(p, heap, &b)) {
            entered = trace_now();
            heap_called(t, HEAP_FREES, b.weight / (double)b.bytes);
            heap_put_free(t, &b, entered);
        }
        capture_leave(t, TRACE_PART_ALLOC, entered);
    }
    errno = saved;
}

void heap_move_begin(struct heap_move *m, void *old, enum trace_heap heap)
{
    int saved = errno;
    struct capture_thread *t = recording ? capture_enter() : NULL;
    m->old.address = 0;
    if (t) {
        m->time_ns = block_take(old, heap, &m->old) ? trace_now() : 0;
        capture_leave(t, TRACE_PART_ALLOC, m->time_ns);
    }
    errno = saved;
}

/* A large block that was resized in place by less than an eighth keeps its record: growing it step
 * by step is one allocation, not many. */
static int same_block(const struct live_block *old, void *now, size_t bytes)
{
    return old->address == (uintptr_t)now && old->bytes >= HEAP_LARGE && bytes >= HEAP_LARGE &&
           (bytes > old->bytes ? bytes - old->bytes : old->bytes - bytes) < old->bytes / 8;
}

/* The FREE bears the time before the call, for another thread may have got the address since. */
void heap_move_end(struct heap_move *m, void *now, size_t bytes, enum trace_heap heap,
                   const void *caller)
{
    int saved = errno, kept = 0;
    struct capture_thread *t = m->old.address ? capture_enter() : NULL;
    if (t) {
        uint64_t entered = trace_now();
        struct live_block stale;
        kept = (!now && bytes) || same_block(&m->old, now, bytes);
        if (!kept || live_add(&m->old, &stale) == LIVE_LOST)
            heap_put_free(t, &m->old, m->time_ns);
        capture_leave(t, TRACE_PART_ALLOC, entered);
    }
    errno = saved;
    if (now && !kept && heap_due(bytes))
        heap_allocated(now, bytes, heap, caller);
}
