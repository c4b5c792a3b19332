/* Weighs slow calls where only some calls are timed. */
#ifndef TP_CAPTURE_RECORDERS_IO_WEIGHT_H
#define TP_CAPTURE_RECORDERS_IO_WEIGHT_H

#include "profiler/capture/core/capture.h"

/* Returns how many calls one of `ns` stands for, which ended at `now`: `weight` where the thread
 * slept in it (io_slept: how often before it; `sleeps`: by now). Else the kernel gave the CPU to
 * others, which must not count for so many. A thread that sleeps for 0.1 ms and then is ready for
 * 40 ms before it gets a CPU would count for 41 s at a weight of 1,024, so all slow calls together
 * get no more than the time that went by: io_credit, up to io_credited. */
static inline uint64_t io_slow_weight(struct capture_thread *t, uint64_t sleeps, uint64_t weight,
                                      uint64_t ns, uint64_t now)
{
    const int slept = t->io_slept != sleeps;
    t->io_credit += now - t->io_credited;
    t->io_credited = now;
    t->io_slept = sleeps;
    if (!slept)
        return 1;
    const uint64_t most = ns ? t->io_credit / ns : weight;
    weight = weight < most ? weight : most > 1 ? most : 1;
    t->io_credit -= weight * ns < t->io_credit ? weight * ns : t->io_credit;
    return weight;
}

#endif
