/* ALLOC and FREE records, and how much of the live heap they stand for. */
#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/heap/heap.h"

static int64_t live_sum;

uint64_t heap_live(void)
{
    int64_t sum = __atomic_load_n(&live_sum, __ATOMIC_RELAXED);
    return sum > 0 ? (uint64_t)sum : 0;
}

void heap_live_reset(void)
{
    live_sum = 0;
}

static void live_changed(const struct live_block *b, int sign)
{
    if (b->heap != TRACE_MMAP)
        __atomic_fetch_add(&live_sum, sign * (int64_t)b->weight, __ATOMIC_RELAXED);
}

void heap_put_alloc(struct capture_thread *t, const struct live_block *b, const void *caller)
{
    struct trace_alloc a = {.r.kind = TRACE_ALLOC, .address = b->address, .bytes = b->bytes};
    a.stack = capture_stack(t, NULL, caller);
    a.weight = b->weight;
    a.heap = b->heap;
    a.tid = t->tid;
    trace_put(&t->stream, &a.r, sizeof a, NULL, 0);
    live_changed(b, 1);
}

void heap_put_free(struct capture_thread *t, const struct live_block *b, uint64_t time_ns)
{
    struct trace_free f = {.r.kind = TRACE_FREE, .address = b->address, .bytes = b->bytes};
    f.r.time_ns = time_ns;
    f.heap = b->heap;
    f.tid = t->tid;
    trace_put(&t->stream, &f.r, sizeof f, NULL, 0);
    live_changed(b, -1);
}
