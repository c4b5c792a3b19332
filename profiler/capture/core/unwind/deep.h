/* The way to the root of a stack that is deeper than what is kept of it: how much time it may take,
 * and how its frames are put in order. */
#ifndef TP_CAPTURE_CORE_UNWIND_DEEP_H
#define TP_CAPTURE_CORE_UNWIND_DEEP_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "profiler/trace/writer.h"

/* A way of more than DEEP_FREE ns of CPU time makes the thread's next one wait DEEP_REST times as
 * long, so that all of them together take 2 % of the time at most; none takes more than DEEP_MOST.
 */
enum { DEEP_FREE = 50000, DEEP_REST = 50, DEEP_MOST = 20000000, DEEP_LOOK = 256 };
struct deep {
    uint64_t begin, after;
};

/* The thread's own, which stands still while others have its CPU; 0.2 us. */
static inline uint64_t deep_clock(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        return trace_now();
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int deep_start(struct deep *d) /* 0: not now */
{
    if (trace_now() < d->after)
        return 0;
    d->begin = deep_clock();
    return 1;
}

static inline int deep_goes_on(const struct deep *d, size_t frames)
{
    return frames % DEEP_LOOK || deep_clock() - d->begin < DEEP_MOST;
}

static inline void deep_stop(struct deep *d)
{
    uint64_t spent = deep_clock() - d->begin;
    d->after = spent > DEEP_FREE ? trace_now() + DEEP_REST * spent : 0;
}

static inline void deep_reverse(uintptr_t *from, uintptr_t *to)
{
    while (from < to) {
        uintptr_t swapped = *from;
        *from++ = *--to;
        *to = swapped;
    }
}

/* `n` words were written round and round into `room` of them: the oldest that is left comes first.
 */
static inline void deep_order(uintptr_t *word, size_t n, size_t room)
{
    size_t oldest = n > room ? n % room : 0;
    if (!oldest)
        return;
    deep_reverse(word, word + oldest);
    deep_reverse(word + oldest, word + room);
    deep_reverse(word, word + room);
}

#endif
