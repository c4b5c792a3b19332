/* COPY records: a copy of the program at which a thread's countdown ended (hooks/copies.c). */
#include <errno.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/heap/heap.h"

int heap_copies_on;

__attribute__((noinline, cold)) void heap_copied(size_t n, const void *caller)
{
    struct heap_countdown *c = &heap_thread.copy;
    int saved = errno;
    struct capture_thread *t = capture_enter();
    if (t) {
        uint64_t entered = 0;
        struct trace_copy r = {.r.kind = TRACE_COPY};
        double calls = heap_counted(c, t, n, capture.config.copy_mean);
        heap_called(t, HEAP_COPIES, calls);
        r.weight = calls * (double)n;
        if (r.weight > 0 && heap_copies_on &&
            !__atomic_load_n(&heap_is_off[HEAP_GROUP_COPY], __ATOMIC_RELAXED)) {
            entered = trace_now();
            r.stack = capture_stack(t, NULL, caller);
            r.tid = t->tid;
            trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
        }
        capture_leave(t, TRACE_PART_COPY, entered);
    } else {
        heap_idle(c);
    }
    errno = saved;
}
