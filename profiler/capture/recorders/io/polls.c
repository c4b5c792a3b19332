/* What threads wait in poll and its like belongs to the read of a socket after it. */
#include "profiler/capture/recorders/io/polls.h"

/* Less is a look, not a wait. */
#define LOOK_NS 20000

void io_polled(uint64_t begin, int fd)
{
    struct capture_thread *t = capture.on && capture_is_here() ? capture_self() : NULL;
    uint64_t end = t ? trace_now() : 0;
    if (end <= begin + LOOK_NS)
        return;
    t->polled_from = begin;
    t->polled_to = end;
    t->polled = fd;
}

uint64_t io_polled_for(struct capture_thread *t, int fd, const struct io_descriptor *d)
{
    uint64_t from = t->polled_from > d->wrote_ns ? t->polled_from : d->wrote_ns;
    uint64_t ns = from < t->polled_to ? t->polled_to - from : 0;
    int of_others = d->accepted || (t->polled >= 0 && t->polled != fd);
    t->polled_to = 0; /* one read had it, or it was for none of them */
    return of_others ? 0 : ns;
}
