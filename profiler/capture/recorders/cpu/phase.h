/* Samples at random moments between the ticks of the kernel, for programs whose own timers keep
 * step with them. */
#ifndef TP_CAPTURE_RECORDERS_CPU_PHASE_H
#define TP_CAPTURE_RECORDERS_CPU_PHASE_H

#include "profiler/capture/raw/near.h"

extern volatile int phase_on CAPTURE_OWN;

/* The program has begun a timer that comes again and again. */
void phase_wanted(void);

void phase_pause_now(void);
void phase_resume_now(void);

/* Around calls that may sleep: no timer of the sampler ends them, or makes them move less. */
static inline void phase_pause(void)
{
    if (__builtin_expect(phase_on, 0))
        phase_pause_now();
}

static inline void phase_resume(void)
{
    if (__builtin_expect(phase_on, 0))
        phase_resume_now();
}

#endif
