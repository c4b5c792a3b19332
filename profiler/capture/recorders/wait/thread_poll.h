/* Threads as others see them, in /proc and by their clocks. */
#ifndef TP_CAPTURE_RECORDERS_WAIT_THREAD_POLL_H
#define TP_CAPTURE_RECORDERS_WAIT_THREAD_POLL_H

#include "profiler/capture/core/core.h"

void look_at_threads(struct capture_thread *t, uint64_t interval);
void look_last(struct capture_thread *t, struct slot *s); /* while our thread keeps quiet */
size_t look_read(uint32_t tid, const char *name, char *out, size_t bytes);
uint64_t look_cpu(uint32_t tid); /* its CPU clock, ns; 0: the calling thread's */
/* The letter that proc(5) has for the thread's state, 0: unknown; and, unless NULL, two of the
 * numbers there, in ticks. */
enum { LOOK_SYSTEM, LOOK_START, LOOK_STATS };
int look_state(uint32_t tid, uint64_t numbers[LOOK_STATS]);
int tasks_scan(struct slot *self, int each_second); /* 0: no thread of the target is left */

#endif
