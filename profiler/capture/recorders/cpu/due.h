/* CPU time of a thread at which its sample was due. */
#ifndef TP_CAPTURE_RECORDERS_CPU_DUE_H
#define TP_CAPTURE_RECORDERS_CPU_DUE_H

#include <stdint.h>

#define DUE_SLACK 10000u /* ns */

struct sample_due {
    uint64_t at, next; /* of this sample, for the next */
};

/* All are CPU times of the thread but `tick`, the kernel's: `asked` of the timer, `now` in the
 * handler, `last` of the sample before, `gap` to the next. The kernel looks at the timer at each
 * tick, and the signal waits for the end of a system call (`in_call`): in a long one, munmap of
 * much memory, it comes later than a tick after `asked`. What the call takes from then on is the
 * next sample's, which keeps its place in the row of samples and may lie in the call too: counted
 * here, such calls got a quarter too much, and what comes after them too little. Ticks miss a
 * thread that sleeps (`slept`): there a late signal tells nothing. */
static inline struct sample_due sample_due(uint64_t asked, uint64_t now, uint64_t last,
                                           uint64_t gap, uint64_t tick, int in_call, int slept)
{
    struct sample_due due = {now, asked + gap > now ? asked + gap : now + gap};
    if (!in_call || slept || now < asked + tick + DUE_SLACK || asked + tick / 2 < last)
        return due;
    uint64_t more = (now - asked - tick / 2) / gap;
    due.at = asked + more * gap + tick / 2;
    due.next = due.at - tick / 2 + gap;
    due.next = due.next > now ? due.next : now + 1;
    return due;
}

#endif
