/* Threads as others see them: in /proc and by their clocks. Async-signal-safe. */
#ifndef TP_CAPTURE_CORE_THREAD_POLL_H
#define TP_CAPTURE_CORE_THREAD_POLL_H

#include <stddef.h>
#include <stdint.h>

/* /proc/self/task/TID/NAME; terminated; bytes read, 0 on any error. */
size_t thread_poll_read(uint32_t tid, const char *name, char *out, size_t bytes);
/* "schedstat" of it, which each turn of the library's own thread reads; _forget: that thread begins
 * anew, with no file open. */
size_t thread_poll_account(uint32_t tid, char *out, size_t bytes);
void thread_poll_forget(void);
/* The thread's CPU clock, ns; tid 0: the calling thread's. */
#define THREAD_POLL_UNKNOWN UINT64_MAX /* gone, or the kernel does not answer */
uint64_t thread_poll_cpu(uint32_t tid);
/* The letter that proc(5) has for the thread's state, 0: unknown; and, unless NULL, two of the
 * numbers there, in ticks. */
enum { THREAD_POLL_SYSTEM, THREAD_POLL_START, THREAD_POLL_STATS };
int thread_poll_state(uint32_t tid, uint64_t numbers[THREAD_POLL_STATS]);
/* Place in the kernel where a thread sleeps; call -1: in none, as in a page fault. 0: it runs. */
struct thread_poll_place {
    int call;
    uintptr_t sp, pc;
};
int thread_poll_place(uint32_t tid, struct thread_poll_place *at);
/* The number at `p`, decimal or hexadecimal; what follows it. */
const char *thread_poll_number(const char *p, uint64_t *out);

/* How often the thread left its CPU to sleep, and how often it had to. 0: not known. */
int thread_poll_switches(uint32_t tid, uint64_t *asleep, uint64_t *forced);

#endif
