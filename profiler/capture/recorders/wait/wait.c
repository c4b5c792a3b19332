#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/wait/thread_poll.h"
#include "profiler/capture/recorders/python/python.h"

#pragma weak heap_live
#pragma weak python_minor
uint64_t heap_live(void);

/* The library's own thread: looks at the others, reads the memory in use, lets parts work. It does
 * nothing in libc that takes locks while a fork is under way (gate). */

enum { NONE, RUNNING, STOPPING, ENDED };
static int state; /* futex */
static int gate;  /* futex: 0 free, 1 held, 2 held and wanted */
static int wake;  /* futex: counts thread ends */
static int late;  /* after a fork: it starts at the next safe moment */
static uint64_t not_before, aside;
static uint32_t own_tid;

#define STACK_BYTES (256 * 1024) /* static TLS of the target lies on it too */

static void lock_gate(void)
{
    int free = 0;
    if (__atomic_compare_exchange_n(&gate, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&gate, 2, __ATOMIC_ACQUIRE))
        raw_futex_wait(&gate, (uint32_t)2, 0);
}

static void unlock_gate(void)
{
    if (__atomic_exchange_n(&gate, 0, __ATOMIC_RELEASE) == 2)
        raw_futex_wake(&gate, 1);
}

static void footprint(struct capture_thread *t, int always)
{
    static uint64_t last;
    char text[128], *p = text;
    struct trace_footprint r = {.r.kind = TRACE_FOOTPRINT};
    if (!raw_read_file("/proc/self/statm", text, sizeof text) || !(p = strchr(text, ' ')))
        return;
    for (p++; *p >= '0' && *p <= '9'; p++)
        r.rss = r.rss * 10 + (uint64_t)(*p - '0');
    r.rss *= (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t moved = r.rss > last ? r.rss - last : last - r.rss;
    if (!always && moved < 65536)
        return;
    last = r.rss;
    r.heap_live = heap_live ? heap_live() : 0;
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

/* One turn; returns whether there is anybody left to look at. */
static int turn(struct slot *self, uint64_t interval)
{
    static uint64_t second;
    uint64_t begin = trace_now();
    int each_second = begin - second >= 1000000000u;
    if (!capture_enter())
        return 1;
    parts_tick(&self->t);
    if (part_is_on(&part_wait))
        look_at_threads(&self->t, interval);
    footprint(&self->t, each_second);
    int left = tasks_scan(self, each_second);
    if (each_second) {
        second = begin;
        facts_clock(&self->t);
        thread_cost(&self->t, self);
    }
    capture_leave(&self->t, TRACE_PART_WAIT, begin);
    return left;
}

static void *run(void *given)
{
    struct slot *self = given;
    uint64_t interval = (uint64_t)(1e9 / capture.config.wait_hz);
    prctl(PR_SET_NAME, "tomoprof");
    /* Known rather than looked up: a file opened now would take a number that the child of a fork,
     * busy with close and dup2, takes for its own. */
    self->t.stack_high = ((uintptr_t)pthread_self() | 4095) + 1;
    self->t.stack_low = self->t.stack_high - STACK_BYTES;
    lock_gate();
    self = thread_register(self, (uint32_t)getpid());
    unlock_gate();
    __atomic_store_n(&own_tid, self->t.tid, __ATOMIC_RELAXED);
    for (int left = 1, soon = 0; left && capture.on;) {
        int ends = __atomic_load_n(&wake, __ATOMIC_RELAXED);
        if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != RUNNING)
            break;
        /* After the end of the last thread that is known: it needs a moment to be gone. */
        raw_futex_wait(&wake, (uint32_t)ends, soon > 0 ? 1000000 : interval);
        soon = thread_count() ? 20 : soon - 1;
        if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != RUNNING)
            break;
        lock_gate();
        left = turn(self, interval);
        unlock_gate();
        soon = thread_count() ? 0 : soon;
    }
    lock_gate();
    thread_end(self);
    unlock_gate();
    __atomic_store_n(&state, ENDED, __ATOMIC_RELEASE);
    raw_futex_wake(&state, 1);
    return NULL;
}

void wait_begin(void)
{
    static void *next;
    typedef int (*fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct slot *s = capture.on ? thread_claim() : NULL;
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    if (!s)
        return;
    s->t.ours = 1;
    state = RUNNING;
    sigfillset(&all);
    signals_mask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int failed = ((fn)raw_next(&next, "pthread_create"))(&thread, &attr, run, s);
    pthread_attr_destroy(&attr);
    signals_mask(SIG_SETMASK, &old, NULL);
    if (!failed)
        return;
    thread_forget(s);
    state = NONE;
    capture_note(capture_self(), 1, "wait", "waiting threads and memory are not looked at: %s",
                 strerrordesc_np(failed));
}

int wait_stop(void)
{
    int running = RUNNING;
    uint64_t end = trace_now() + 1000000000u;
    struct slot *s = thread_self();
    if ((s && s->t.ours) || !__atomic_compare_exchange_n(&state, &running, STOPPING, 0,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 0;
    wait_wake();
    for (uint64_t now;
         (now = trace_now()) < end && __atomic_load_n(&state, __ATOMIC_ACQUIRE) == STOPPING;)
        raw_futex_wait(&state, (uint32_t)STOPPING, end - now);
    /* The last step out of the C library and the kernel. */
    while (trace_now() < end &&
           syscall(SYS_tgkill, getpid(), __atomic_load_n(&own_tid, __ATOMIC_RELAXED), 0) == 0)
        raw_futex_wait(&state, (uint32_t)ENDED, 50000);
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ENDED;
}

void wait_last_look(struct slot *s)
{
    int free = 0;
    if (!s->wait_known ||
        !__atomic_compare_exchange_n(&gate, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    look_last(&s->t, s);
    unlock_gate();
}

int wait_quiet(void)
{
    uint64_t end = trace_now() + 5000000u;
    int held = 0;
    while (!(held = !__atomic_exchange_n(&gate, 2, __ATOMIC_ACQUIRE)) && trace_now() < end)
        raw_futex_wait(&gate, (uint32_t)2, 500000);
    return held;
}

void wait_wake(void)
{
    __atomic_fetch_add(&wake, 1, __ATOMIC_RELEASE);
    raw_futex_wake(&wake, 1);
}

void wait_hold(int on)
{
    if (on)
        lock_gate();
    else
        unlock_gate();
}

void wait_forked(uint32_t others)
{
    state = NONE;
    not_before = aside = 0;
    late = others > 0;
}

/* CPython from 3.12 on counts the threads of the process after a fork, and warns on stderr where
 * there are several: then it must find one less. It asks within microseconds; the thread comes back
 * with a later allocation. */
#define ASIDE_NS 20000000u

void wait_step_aside(void)
{
    aside = python_minor && python_minor() >= 12 && wait_stop();
}

void wait_return(void)
{
    if (!aside)
        return;
    not_before = trace_now() + ASIDE_NS;
    aside = 0;
    __atomic_store_n(&late, 1, __ATOMIC_RELEASE);
}

/* A child whose parent had other threads may find their locks held for ever, malloc's as well where
 * it is not libc's: there the thread starts when the child is seen to allocate or make threads. */
void wait_begin_child(void)
{
    if (capture.on && !late)
        wait_begin();
}

void wait_late(void)
{
    if (__builtin_expect(late, 0) && process_is_ours() && trace_now() >= not_before &&
        __atomic_exchange_n(&late, 0, __ATOMIC_ACQUIRE))
        wait_begin();
}

const struct capture_part part_wait = {.name = "wait", .index = 1, .modes = CAPTURE_WAIT};
