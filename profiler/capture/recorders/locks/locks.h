/* Waits for locks: who waited, where, for how long, and which thread held the lock as it began. The
 * hooks call this for locks that are taken; one that is free at once costs a count. */
#ifndef TP_CAPTURE_RECORDERS_LOCKS_LOCKS_H
#define TP_CAPTURE_RECORDERS_LOCKS_LOCKS_H

#include "profiler/capture/core/capture.h"

struct locks_thread { /* of the calling thread */
    uint64_t calls;   /* of pthread_mutex_lock */
    uint32_t tid;     /* 0: not registered */
};
extern __thread struct locks_thread locks_thread __attribute__((visibility("hidden")));

/* The calling thread is about to wait for the lock at `address`, which the thread `holder` (0
 * unknown) or so many readers hold. NULL: this is not recorded. Else locks_end when the wait is
 * over; a thread that is cancelled in it leaves nothing behind. */
struct capture_thread *locks_begin(enum trace_lock_kind kind, const volatile void *address,
                                   uint32_t holder, uint32_t readers);
/* `taken`: it has the lock now; `caller`: where the program called the hook. Keeps errno, and
 * returns `r`: the hook's last step, so that the program is its caller. */
int locks_end(struct capture_thread *t, int r, int taken, const void *caller);
long locks_end_call(struct capture_thread *t, long r, int taken, const void *caller);

/* owners.c: semaphores have no owner: the thread that took one last, and has not posted it. */
void locks_took(const volatile void *semaphore);
void locks_released(const volatile void *semaphore);
uint32_t locks_taker(const volatile void *semaphore); /* 0 unknown */

struct lock_calls {
    double (*measure)(void);    /* ns that a call takes longer through a wrapper */
    unsigned (*take_out)(void); /* binds the program's calls to the next definition */
};
void locks_set_calls(const struct lock_calls *hooks);

#endif
