/* The lock recorder: times the waits that the hooks tell, knows the interpreter's lock by its
 * address, and takes the wrapper of mutexes out of a program that calls it too often. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/locks/locks.h"
#include "profiler/capture/recorders/python/python.h"

#define LEAST_NS      100000u   /* shorter waits are not recorded */
#define LASTS_NS      10000000u /* its holder is looked at again and again */
#define FEW_CALLS     10000
#define CALL_LEAST_NS 0.25
#define FREE_NS       1e9 /* of CPU time on which the share of the wrapper is granted at the start */

static int on;
static const struct lock_calls *hooks;
static double call_ns = CALL_LEAST_NS;

void locks_set_calls(const struct lock_calls *given)
{
    hooks = given;
}

static void lock_put(struct capture_thread *t, const struct capture_lock *w, uint32_t tid,
                     uint64_t now, unsigned flags)
{
    struct trace_lock r = {.r.kind = TRACE_LOCK,
                           .r.time_ns = now,
                           .stack = w->stack,
                           .address = w->address,
                           .wait_ns = now - w->part,
                           .tid = tid,
                           .holder = w->holder,
                           .kind = w->kind,
                           .flags = (uint16_t)flags,
                           .readers = w->readers};
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

/* A semaphore on the thread's own stack is that of CPython's parking lot (3.13 on), in a structure
 * {argument, address of what is waited for, semaphore, ...}. */
static int lock_of_parking_lot(const struct capture_thread *t, struct capture_lock *w)
{
    uintptr_t parking[2];
    if (w->kind != TRACE_LOCK_SEMAPHORE || python_gil_minor() < 13 || w->address < t->stack_low ||
        w->address >= t->stack_high ||
        !safe_read(w->address - sizeof parking, parking, sizeof parking) || !parking[1])
        return 0;
    w->address = parking[1];
    w->kind = TRACE_LOCK_PYTHON;
    w->holder = 0;
    return 1;
}

struct capture_thread *locks_begin(enum trace_lock_kind kind, const volatile void *address,
                                   uint32_t holder, uint32_t readers)
{
    struct thread_slot *s = on ? thread_self() : NULL;
    if (!s || s->t.busy || s->t.ours || !thread_live())
        return NULL;
    struct capture_lock w = {.address = (uintptr_t)address,
                             .holder = holder,
                             .readers = readers,
                             .kind = (uint16_t)kind};
    uintptr_t gil = lock_of_parking_lot(&s->t, &w) ? 0 : python_gil_at(w.address);
    w.in_turns = gil && python_gil_is_waited_for(gil, w.address);
    if (w.in_turns && s->t.lock.since && s->t.lock.in_turns && s->t.lock.address == gil)
        return &s->t; /* it waits on */
    const uint64_t asked = gil ? trace_now() : 0;
    if (gil) {
        w.kind = TRACE_LOCK_GIL;
        w.address = gil;
        w.holder = python_gil_holder(gil);
    }
    w.since = w.part = trace_now();
    if (gil) /* who has it is read through the kernel: a fifth of what such waits cost */
        s->t.cost_ns[TRACE_PART_LOCKS] += w.since - asked;
    s->t.lock = w;
    return &s->t;
}

/* Records a wait from `part` on. */
static void lock_record(struct capture_thread *t, uint64_t now, unsigned flags, const void *caller)
{
    int saved = errno;
    if (capture_enter()) {
        if (!t->lock.stack)
            t->lock.stack = capture_stack(t, NULL, caller);
        lock_put(t, &t->lock, t->tid, now, flags);
        capture_leave(t, TRACE_PART_LOCKS, now);
    }
    errno = saved;
}

/* The thread has woken, with the GIL's own mutex: it waits on where another thread has the GIL. */
static int goes_on(struct capture_thread *t, uint64_t now, const void *caller)
{
    struct capture_lock *w = &t->lock;
    if (!python_gil_is_held(w->address))
        return 0;
    uint32_t holder = python_gil_holder(w->address);
    if (holder != w->holder && now - w->part >= LEAST_NS) {
        lock_record(t, now, TRACE_LOCK_MORE, caller);
        w->part = now;
        w->holder = holder;
    }
    return 1;
}

static void lock_wait_ends(struct capture_thread *t, int taken, const void *caller)
{
    struct capture_lock *w = &t->lock;
    uint64_t now = trace_now();
    if (w->in_turns && goes_on(t, now, caller))
        return;
    if (now - w->since >= LEAST_NS)
        lock_record(t, now, taken ? TRACE_LOCK_TAKEN : 0, caller);
    w->since = 0;
}

int locks_end(struct capture_thread *t, int r, int taken, const void *caller)
{
    lock_wait_ends(t, taken, caller);
    return r;
}

long locks_end_call(struct capture_thread *t, long r, int taken, const void *caller)
{
    lock_wait_ends(t, taken, caller);
    return r;
}

static int locks_start(void)
{
    on = 1;
    return 0;
}

static void locks_thread_start(struct capture_thread *t)
{
    if (t != capture_self())
        return;
    locks_thread.tid = t->tid;
    t->lock_calls = &locks_thread.calls;
}

/* Few cost less than to measure what one costs: 50 us, more than the rest of a process's start. */
static void count_calls(struct capture_thread *t)
{
    static int is_measured;
    uint64_t calls = locks_thread.calls;
    if (!t->lock_calls)
        return;
    if (t != capture_self() && !safe_read((uintptr_t)t->lock_calls, &calls, sizeof calls))
        return; /* a thread's variables go with it */
    if (hooks && calls > FEW_CALLS && !__atomic_exchange_n(&is_measured, 1, __ATOMIC_RELAXED))
        call_ns = hooks->measure();
    t->cost_calls[TRACE_PART_LOCK_CALLS] = calls;
    t->cost_ns[TRACE_PART_LOCK_CALLS] = (uint64_t)((double)calls * call_ns);
}

static void locks_thread_end(struct capture_thread *t)
{
    count_calls(t);
    t->lock_calls = NULL;
}

/* Threads that wait still when all ends. */
static void locks_thread_pending(struct capture_thread *writer, struct thread_slot *s)
{
    struct capture_lock w = s->t.lock;
    struct thread_poll_place at;
    uint64_t now = trace_now();
    count_calls(&s->t);
    if (&s->t == writer || !w.since || w.since != s->t.lock.since || now - w.since < LEAST_NS)
        return;
    if (!w.stack && thread_poll_place(s->t.tid, &at))
        w.stack = capture_stack_of(writer, (pid_t)s->t.tid, at.pc, at.sp);
    lock_put(writer, &w, s->t.tid, now, TRACE_LOCK_WAITING);
}

static void take_out_if_slow(struct capture_thread *ours)
{
    static int out;
    double ns = 0, share = capture.config.calls_share;
    struct timespec t;
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && s->t.tid && !s->t.ours) {
            count_calls(&s->t);
            ns += (double)s->t.cost_ns[TRACE_PART_LOCK_CALLS];
        }
    if (out || !hooks || share >= 1 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
        return;
    double cpu = 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
    if (ns <= share * (FREE_NS + cpu) || !modules_are_whole())
        return;
    out = 1;
    capture_note(ours, 1, "locks.off",
                 "The program locks mutexes so often that counting the calls took %.1f %% of its "
                 "CPU time: after %.2f s of CPU time they were taken out of its way. Waits for "
                 "mutexes after that are not recorded. Set TOMOPROF_CAPTURE_CALLS=1 to record them "
                 "at that price.",
                 100 * ns / cpu, 1e-9 * cpu);
    modules_hold();
    hooks->take_out();
    modules_release();
}

static uint32_t holder_now(const struct capture_lock *w)
{
    int32_t owner = 0;
    if (w->kind == TRACE_LOCK_GIL)
        return python_gil_holder(w->address);
    if (w->kind == TRACE_LOCK_SEMAPHORE)
        return locks_taker((const void *)w->address);
    size_t at = w->kind == TRACE_LOCK_MUTEX ? offsetof(pthread_mutex_t, __data.__owner)
                                            : offsetof(pthread_rwlock_t, __data.__cur_writer);
    int has_owner =
        w->kind == TRACE_LOCK_MUTEX || w->kind == TRACE_LOCK_READ || w->kind == TRACE_LOCK_WRITE;
    return has_owner && safe_read(w->address + at, &owner, sizeof owner) && owner > 0
               ? (uint32_t)owner
               : 0;
}

/* Waits that last: another thread may have the lock by now. */
static void see_holders(struct capture_thread *ours)
{
    for (struct thread_slot *s = thread_first(); s; s = s->next) {
        struct capture_lock w = s->t.lock;
        uint64_t now = trace_now();
        if (!s->used || !s->t.tid || !w.since || now < w.since + LASTS_NS)
            continue;
        uint32_t holder = holder_now(&w);
        if (!holder || holder == w.holder || w.since != s->t.lock.since)
            continue;
        w.holder = holder;
        w.part = now;
        w.stack = 0;
        lock_put(ours, &w, s->t.tid, now, TRACE_LOCK_SEEN);
    }
}

static void locks_tick(struct capture_thread *ours)
{
    static unsigned ticks;
    python_gil_find();
    see_holders(ours);
    if (++ticks < (unsigned)capture.config.wait_hz)
        return;
    ticks = 0;
    take_out_if_slow(ours);
}

static void locks_fork_child(void)
{
    struct capture_thread *t = capture_self();
    locks_thread.calls = 0;
    if (t)
        locks_thread.tid = t->tid;
}

const struct recorder locks_recorder = {
    .name = "locks",
    .modes = CAPTURE_LOCKS,
    .start = locks_start,
    .thread_start = locks_thread_start,
    .thread_end = locks_thread_end,
    .thread_pending = locks_thread_pending,
    .tick = locks_tick,
    .fork_child = locks_fork_child,
};
