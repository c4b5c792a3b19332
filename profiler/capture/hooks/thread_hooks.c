/* The ways in which a target makes threads: each begins here, so that its first step is known. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <threads.h>
#include <time.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"

static size_t default_stack;

/* Runs on the new thread, before anything of the target's. */
static void thread_hook_begin(struct thread_slot *s)
{
    uint32_t parent = s->parent_tid;
    uintptr_t bytes = s->t.stack_high;
    if (!s->t.stack_low) /* glibc puts its descriptor at the top of the stack that it makes */
        s->t.stack_low = ((uintptr_t)pthread_self() | 4095) + 1 - bytes;
    s->t.stack_high = s->t.stack_low + bytes;
    if (thread_live())
        thread_register(s, parent);
    else
        thread_forget(s);
}

static void *thread_trampoline(void *argument)
{
    struct thread_slot *s = argument;
    void *(*start)(void *) = s->start;
    void *given = s->argument;
    thread_hook_begin(s);
    return start(given);
}

static int thread_trampoline_c11(void *argument)
{
    struct thread_slot *s = argument;
    thrd_start_t start = (thrd_start_t)(uintptr_t)s->start;
    void *given = s->argument;
    thread_hook_begin(s);
    return start(given);
}

/* A place for the thread that the caller is about to make; NULL: it will be found in /proc. */
static struct thread_slot *thread_hook_claim(void *(*start)(void *), void *argument, void *stack,
                                             size_t bytes)
{
    thread_late(1);
    struct thread_slot *me = thread_self(),
                       *s = thread_live() && me && !me->t.busy ? thread_claim() : NULL;
    if (!s)
        return NULL;
    s->start = start;
    s->argument = argument;
    s->parent_tid = me->t.tid;
    s->blocked = me->blocked;
    s->t.stack_low = (uintptr_t)stack;
    s->t.stack_high = bytes; /* its size, until the thread runs */
    return s;
}

CAPTURE_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                               void *(*start)(void *), void *argument)
{
    static void *next;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))raw_next(
            &next, "pthread_create");
    void *base = NULL;
    size_t bytes = default_stack, own_bytes = 0;
    if (attr && (pthread_attr_getstacksize(attr, &bytes) || bytes == 0))
        bytes = default_stack;
    /* The target's own stack; where there is none, glibc says one that ends at address 0. */
    if (attr &&
        (pthread_attr_getstack(attr, &base, &own_bytes) || (uintptr_t)base + own_bytes == 0))
        base = NULL;
    struct thread_slot *s = thread_hook_claim(start, argument, base, base ? own_bytes : bytes);
    if (!s)
        return real(thread, attr, start, argument);
    int failed = real(thread, attr, thread_trampoline, s);
    if (failed)
        thread_forget(s);
    return failed;
}

CAPTURE_API int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    static void *next;
    int (*real)(thrd_t *, thrd_start_t, void *) =
        (int (*)(thrd_t *, thrd_start_t, void *))raw_next(&next, "thrd_create");
    struct thread_slot *s =
        thread_hook_claim((void *(*)(void *))(uintptr_t)start, argument, NULL, default_stack);
    if (!s)
        return real(thread, start, argument);
    int failed = real(thread, thread_trampoline_c11, s);
    if (failed != thrd_success)
        thread_forget(s);
    return failed;
}

/* The threads of a timer are made inside the C library: they come here first. A running one may
 * still need its row after timer_delete, so that rows are never used again; where none is left,
 * these threads are found in /proc. */
#define TIMERS 64

static struct on_timer {
    void (*call)(union sigval);
    union sigval value;
} on_timer[TIMERS];

static void timer_thread(union sigval given)
{
    struct on_timer *t = given.sival_ptr;
    if (thread_live() && !thread_self())
        thread_register(NULL, 0);
    t->call(t->value);
}

CAPTURE_API int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    static void *next;
    static uint32_t taken;
    int (*real)(clockid_t, struct sigevent *, timer_t *) =
        (int (*)(clockid_t, struct sigevent *, timer_t *))raw_next(&next, "timer_create");
    if (!event || event->sigev_notify != SIGEV_THREAD || !thread_live() ||
        __atomic_load_n(&taken, __ATOMIC_RELAXED) >= TIMERS)
        return real(clock, event, timer);
    uint32_t row = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    if (row >= TIMERS)
        return real(clock, event, timer);
    struct sigevent mine = *event;
    on_timer[row] = (struct on_timer){event->sigev_notify_function, event->sigev_value};
    mine.sigev_notify_function = timer_thread;
    mine.sigev_value.sival_ptr = &on_timer[row];
    return real(clock, &mine, timer);
}

void thread_hooks_setup(void)
{
    struct rlimit limit;
    if (default_stack)
        return;
    default_stack = 8 << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        default_stack = limit.rlim_cur;
}
