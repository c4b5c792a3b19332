/* The library's own thread: lets recorders work, polls the memory in use, finds threads in /proc.
 */
#ifndef TP_CAPTURE_CORE_POLL_THREAD_H
#define TP_CAPTURE_CORE_POLL_THREAD_H

#include "profiler/capture/core/core.h"

void poll_thread_begin(void); /* starts it */
/* The same for a process that has been asleep: as late as if it had slept on. */
void poll_thread_begin_awake(void);
int poll_thread_is_late(void); /* 1: it waits for that age alone */
/* Asked after each turn; 1: the recording has ended, and the thread with it. */
void poll_thread_ends_when(int (*over)(void));
int poll_thread_stop(void);         /* asks it to end, waits at most 1 s; whether it has */
void poll_thread_step_aside(void);  /* before a fork that must find the target's threads alone */
void poll_thread_return(void);      /* ... after it: it starts again with a later allocation */
int poll_thread_tid(uint32_t *tid); /* 0: there is none, or (result 0) it is not known yet */
int poll_thread_leave(void);        /* the same at any other moment; 1: it ran, and has ended */
void poll_thread_forked(
    uint32_t others);               /* child: it is gone; the parent had so many other threads */
void poll_thread_begin_child(void); /* starts it in the child where that is safe */

/* A thread of the library, detached, with all signals blocked; `run` gets a slot of its own. */
int thread_begin_own(void *(*run)(void *), size_t stack_bytes); /* 0 or errno */

/* poll_gate.c: keeps it from working. */
void poll_gate_lock(void);
void poll_gate_lock_own(void);   /* on that thread, which does errands meanwhile */
int poll_gate_try(void);         /* 1: had at once */
int poll_gate_keep(uint64_t ns); /* waits so long at most, for the end of the process: 1 had */
void poll_gate_unlock(void);
uint32_t poll_gate_ends(void); /* threads that ended so far */
/* For a further one, so long at most; does errands meanwhile. */
void poll_gate_wait(uint32_t seen_ends, uint64_t ns);
void poll_gate_wake(void); /* a thread has ended */
void poll_gate_call(void); /* there is an errand */

/* tasks.c: threads that come and go in /proc; 0: no thread of the target is left. */
int tasks_scan(struct thread_slot *self, int each_second);

#endif
