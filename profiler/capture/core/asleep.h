/* A short process is asleep from its start on: it has its signal handler, its place among the
 * threads and a timer, and nothing else. It wakes with its first record, with a second thread, or
 * where the timer finds it at a place at which all of the library may start; then it is recorded as
 * any other. One that ends before is written in its last moment: who it was, when it began and
 * ended, its CPU time. x86-64 with glibc 2.35 and later; not the program that was started. */
#ifndef TP_CAPTURE_CORE_ASLEEP_H
#define TP_CAPTURE_CORE_ASLEEP_H

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/capture.h"

#define ASLEEP_NS 10000000 /* at most, but for one that hardly runs */

struct asleep {
    volatile int on;                         /* nothing is recorded yet */
    int counts;                              /* but for its input and output: io's tables have it */
    int timer, has_timer;                    /* by whose signal it wakes, or its thread begins */
    int wanted_signal;                       /* as it was configured */
    uintptr_t allocator;                     /* the calloc to which all calls of this name lead */
    void (*wake)(void);                      /* at a moment at which the program could allocate */
    void (*begin)(struct capture_thread *t); /* the recorders of one that was just loaded */
    struct trace_account loaded;             /* when the library was */
    struct trace_account since;              /* when it began; time 0: it has not been asleep */
};
extern struct asleep asleep; /* capture.c */

static inline void capture_wake(void)
{
    if (__builtin_expect(asleep.on, 0))
        asleep.wake();
}

/* Before its signal is the program's again. */
static inline void asleep_timer_end(void)
{
    if (asleep.has_timer)
        syscall(SYS_timer_delete, asleep.timer);
    asleep.has_timer = 0;
}

/* Before a call that would be recorded. */
static inline int capture_is_on(void)
{
    if (__builtin_expect(capture.on, 1)) /* nothing is asleep then */
        return 1;
    capture_wake();
    return capture.on;
}

enum asleep_kind { ASLEEP_NOT, ASLEEP_FORKED, ASLEEP_LOADED };

/* The calling thread, entered as by capture_enter, in a process that is asleep. */
struct capture_thread *asleep_enter(void);

/* The calling thread is the only one, and registered. 0: it cannot be; all starts now. */
struct capture_parts; /* where the library was just loaded, else NULL */
int asleep_begin(enum asleep_kind kind, const struct capture_parts *parts);
void asleep_expect_fork(void); /* before a fork: finds what holds for the child as well */
/* The process ends or (TRACE_EXEC) becomes another program: 1, it was asleep and is in the trace. */
int asleep_finish(enum trace_end end, int detail, const char *path);
/* It does not become another program after all: it is awake from now on. */
void asleep_return(void);
/* 1: the signal was of the timer, whose call it interrupted is made again where that is due. */
int asleep_signal(const siginfo_t *info, void *context);

/* Begins and ends what is asleep. `forked`: else it was just loaded. */
struct thread_slot;
struct asleep_calls {
    void (*wake)(struct thread_slot *s, int forked);
    void (*go_on)(struct thread_slot *s, int forked); /* it has a trace already */
    void (*put)(struct thread_slot *s, int forked, enum trace_end end, int detail,
                const char *path);
};
void asleep_set_calls(const struct asleep_calls *calls);

#endif
