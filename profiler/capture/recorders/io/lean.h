/* Programs of very many small calls: calls that go on from each other wait in their descriptor, a
 * line of the cache, and only some calls are timed. */
#ifndef TP_CAPTURE_RECORDERS_IO_LEAN_H
#define TP_CAPTURE_RECORDERS_IO_LEAN_H

#include "profiler/capture/raw/near.h"
#include "profiler/capture/recorders/io/short_calls.h"

enum {
    LEAN_ONE_IN = 64, /* calls that are timed, at random; the time of each stands for as many */
    LEAN_MANY_ONE_IN = 256,  /* of a thread that has had LEAN_FEW drawn: each takes 400 ns */
    LEAN_MOST_ONE_IN = 1024, /* the same while it makes more than LEAN_OFTEN calls a second */
    LEAN_FEW = 2000,
    LEAN_OFTEN = 1000000,
    LEAN_UNTIMED = 1, /* io_weight of a call that is not */
    LEAN_MEASURES,    /* while its cost is measured */
};

/* Calls that the time of a slow one stands for, which took `ns` until now. */
void io_lean_timed(struct capture_thread *t); /* before one that may be slow */
uint64_t io_lean_weight(struct capture_thread *t, uint64_t ns, uint64_t now);
/* About once a second: ends it where few calls come. */
void io_lean_tick(void);
void io_lean_set(int on);     /* io_lean, and capture_counts with it */
uint64_t io_lean_begun(void); /* ns of CPU time; 0: it never was */
static inline uint32_t io_lean_one_in(const struct capture_thread *t)
{
    return t->io_draws < LEAN_FEW ? LEAN_ONE_IN : t->io_often ? LEAN_MOST_ONE_IN : LEAN_MANY_ONE_IN;
}
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

/* The same of a run of this kind (op + 1), which one look tells with the lock. */
static inline int io_run_lock_of(struct io_pending *r, unsigned op)
{
    uint16_t free = (uint16_t)(op << 8);
    if (__builtin_expect(__atomic_load_n(&io_threaded, __ATOMIC_RELAXED), 0))
        return __atomic_compare_exchange_n(&r->lock_and_op, &free, free | 1, 0, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(&r->lock_and_op, __ATOMIC_RELAXED) != free, 0))
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
    uint64_t left; /* above: `busy` */
    struct thread_slot *s = thread_own;
    if (!__builtin_expect(__atomic_load_n(&capture_counts, __ATOMIC_RELAXED) && s, 1))
        return 0;
    __builtin_memcpy(&left, &s->t.io_left, sizeof left);
    if (__builtin_expect(left - 2 >= UINT32_MAX - 1ull, 0))
        return 0;
    s->t.io_left = (uint32_t)left - 1;
    return 1;
}
_Static_assert(offsetof(struct capture_thread, busy) ==
                   offsetof(struct capture_thread, io_left) + sizeof(uint32_t),
               "they are read together");

/* After it, as the last step of the hook, so that their caller is the program: count it, and return
 * its result. */
int64_t io_lean_moved_here(int64_t result, int fd, enum trace_io_op op);
int64_t io_lean_moved_at(int64_t result, int fd, enum trace_io_op op, int64_t offset);
int io_lean_opened(int fd, const char *path, int flags);
int64_t io_lean_sought(int64_t result, int fd);
int io_lean_closes(int fd, int (*real)(int)); /* counts it, and calls `real` */

#endif
