/* The state of the whole library, and what needs nothing but it. */
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/recorder.h"

struct capture capture CAPTURE_NEAR;
int capture_counts CAPTURE_HOT __attribute__((aligned(64))); /* the first of them */
struct asleep asleep CAPTURE_NEAR;

/* thread.c's, where threads of this process are recorded. */
__attribute__((weak)) struct capture_thread *capture_self(void)
{
    return NULL;
}

int capture_is_here(void)
{
    return getpid() == capture.pid;
}

void capture_count_memory(int64_t bytes)
{
    struct trace_header *h = capture.writer.header;
    if (h)
        __atomic_fetch_add(&h->capture_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);
}

double capture_random(struct capture_thread *t)
{ /* xorshift64*, its upper 53 bits */
    uint64_t x = t->random ? t->random : 0x9e3779b97f4a7c15ull;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    t->random = x;
    return (double)((x * 0x2545f4914f6cdd1dull >> 11) + 1) * 0x1p-53;
}
