/* COPY records: a copy of the program at which a thread's countdown ended (hooks/copies.c). */
#include <errno.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/recorders/heap/heap.h"

int heap_copies_on;

__attribute__((noinline, cold)) void heap_copied(size_t n, const void *caller)
{
    struct heap_countdown *c = &heap_thread.copy;
    if (heap_sleeps_on(c, n, capture.config.copy_mean))
        return;
    int saved = errno;
    struct capture_thread *t = capture_enter();
    if (t) {
        struct trace_copy r = {.r.kind = TRACE_COPY};
        double calls = heap_counted(c, t, n, capture.config.copy_mean);
        heap_called(t, HEAP_COPIES, calls);
        r.weight = calls * (double)n;
        if (r.weight > 0 && heap_copies_on &&
            !__atomic_load_n(&heap_is_off[HEAP_GROUP_COPY], __ATOMIC_RELAXED)) {
            const uint64_t begin = thread_poll_cpu(0);
            r.stack = capture_stack(t, NULL, caller);
            r.tid = t->tid;
            trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
            thread_cost_add(t, TRACE_PART_COPY, begin);
        }
        capture_leave(t, TRACE_PART_COPY, 0);
    } else {
        heap_idle(c);
    }
    errno = saved;
}
