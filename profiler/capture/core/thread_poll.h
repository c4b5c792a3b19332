/* Threads as others see them: in /proc and by their clocks. Async-signal-safe. */
#ifndef TP_CAPTURE_CORE_THREAD_POLL_H
#define TP_CAPTURE_CORE_THREAD_POLL_H

#include <stddef.h>
#include <stdint.h>

/* /proc/self/task/TID/NAME; terminated; bytes read, 0 on any error. */
size_t thread_poll_read(uint32_t tid, const char *name, char *out, size_t bytes);
uint64_t thread_poll_cpu(uint32_t tid); /* its CPU clock, ns; 0: the calling thread's */
/* The letter that proc(5) has for the thread's state, 0: unknown; and, unless NULL, two of the
 * numbers there, in ticks. */
enum { THREAD_POLL_SYSTEM, THREAD_POLL_START, THREAD_POLL_STATS };
int thread_poll_state(uint32_t tid, uint64_t numbers[THREAD_POLL_STATS]);
/* The number at `p`, decimal or hexadecimal; what follows it. */
const char *thread_poll_number(const char *p, uint64_t *out);

#endif
