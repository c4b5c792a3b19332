/* Programs of very many small calls: calls that go on from each other wait in their descriptor, a
 * line of the cache, and only some calls are timed. */
#ifndef TP_CAPTURE_RECORDERS_IO_LEAN_H
#define TP_CAPTURE_RECORDERS_IO_LEAN_H

#include "profiler/capture/raw/near.h"
#include "profiler/capture/recorders/io/short_calls.h"

enum {
    LEAN_ONE_IN = 64, /* calls that are timed, at random; the time of each stands for as many */
    LEAN_MANY_ONE_IN = 256, /* of a thread that has had LEAN_FEW drawn: each takes 400 ns */
    LEAN_FEW = 2000,
    LEAN_UNTIMED = 1, /* io_weight of a call that is not */
};

/* Calls that the time of a slow one stands for. */
uint64_t io_lean_weight(struct capture_thread *t);
/* About once a second: ends it where few calls come. */
void io_lean_tick(void);
uint64_t io_lean_begun(void);                  /* ns of CPU time; 0: it never was */
void io_lean_thread(struct capture_thread *t); /* starts */
void io_lean_stop(void);                       /* all that waits, into the rows */
void io_lean_forked(void);
void io_lean_share_forked(void); /* short_calls.c, which tells when calls are so */

/* places.c */
extern int io_threaded CAPTURE_OWN; /* the process has had several threads */
/* Nothing else changes a run meanwhile: no thread, and no handler of a signal. */
static inline int io_run_lock(struct io_pending *r)
{
    uint8_t none = 0;
    if (__atomic_load_n(&io_threaded, __ATOMIC_RELAXED))
        return __atomic_compare_exchange_n(&r->lock, &none, 1, 0, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED);
    if (__atomic_load_n(&r->lock, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(&r->lock, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return 1;
}

static inline void io_run_unlock(struct io_pending *r)
{
    __atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
}

/* Under the lock of `f`, and of the run. */
void io_run_move(struct io_file *f, struct io_descriptor *d);
/* Into the row, what waits for that of closed files. */
void io_whole_end(struct io_whole *w);
/* Under the lock of `f`, by a call that is recorded at once. */
void io_run_flush(struct io_file *f, struct io_descriptor *d);

/* Calls that are counted and not timed, straight from their hooks: after a system call each line of
 * code and of memory is waited for, so these keep no registers and end with a jump. */
/* 1: this call is such a one. 0: io_short_begin tells what it is. */
static inline int io_lean_takes(void)
{
    if (!__builtin_expect(__atomic_load_n(&io_lean, __ATOMIC_RELAXED) && capture.on, 1))
        return 0;
    struct thread_slot *s = thread_own;
    if (__builtin_expect(!s || s->t.busy || s->t.io_left <= 1, 0))
        return 0;
    s->t.io_left--;
    return 1;
}

/* After it: count it, and return its result. `caller`: see capture_stack. */
int64_t io_lean_moved(int64_t result, int fd, enum trace_io_op op, int64_t offset,
                      const void *caller);
int io_lean_opened(int fd, const char *path, int flags, const void *caller);
int64_t io_lean_sought(int64_t result, int fd, const void *caller);
int io_lean_closes(int fd, int (*real)(int)); /* counts it, and calls `real` */

#endif
