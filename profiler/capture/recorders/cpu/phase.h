/* Samples at random moments between the ticks of the kernel, for programs whose own timers keep
 * step with them. */
#ifndef TP_CAPTURE_RECORDERS_CPU_PHASE_H
#define TP_CAPTURE_RECORDERS_CPU_PHASE_H

/* The program has begun a timer that comes again and again. */
void phase_wanted(void);

#endif
