/* The library's own thread: lets the recorders work, records the memory in use, finds threads that
 * come and go. It does nothing in libc that takes locks while a fork is under way (poll_gate.c). */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/one_thread.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/same_cpu.h"
#include "profiler/capture/raw/system.h"

enum { NONE, RUNNING, STOPPING, ENDED };
static uint32_t state; /* futex */
static uint64_t not_before, aside;
static int is_brief;     /* nothing but its age keeps the thread from beginning */
static int was_put_off;  /* before a fork */
static uint32_t own_tid; /* 0: it has not run yet */

#define STACK_BYTES (256 * 1024) /* static TLS of the target lies on it too */

static int memory_file; /* /proc/self/statm */

static void poll_record_footprint(struct capture_thread *t, int always)
{
    static uint64_t last;
    char text[128], *p = text;
    struct trace_footprint r = {.r.kind = TRACE_FOOTPRINT};
    if (!raw_read_again(&memory_file, "/proc/self/statm", text, sizeof text) ||
        !(p = strchr(text, ' ')))
        return;
    for (p++; *p >= '0' && *p <= '9'; p++)
        r.rss = r.rss * 10 + (uint64_t)(*p - '0');
    r.rss *= (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t moved = r.rss > last ? r.rss - last : last - r.rss;
    if (!always && moved < 65536)
        return;
    last = r.rss;
    recorders_footprint(&r);
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

static int poll_cannot_start(void)
{
    return 0;
}
static int (*is_over)(void) = poll_cannot_start;

void poll_thread_ends_when(int (*over)(void))
{
    is_over = over;
}

#define COSTS_EVERY 8000000000u /* ns, at most */
#define COSTS_OF    8           /* sooner, where that is more than this part of the time so far */
static uint64_t costs_from, costs_next;

/* Counts the turn, and writes now and then what recording has taken so far: a process may be killed,
 * as those of a Python pool are. */
static void poll_put_costs(struct capture_thread *t, uint64_t now)
{
    const uint64_t age = now - costs_from, cpu = thread_poll_cpu(0);
    t->cost_ns[TRACE_PART_WAIT] = cpu == THREAD_POLL_UNKNOWN ? 0 : cpu;
    t->cost_calls[TRACE_PART_WAIT]++;
    if (now < costs_next)
        return;
    costs_next = now + (age / COSTS_OF < COSTS_EVERY ? age / COSTS_OF : COSTS_EVERY);
    (void)thread_cost_take(t);
    for (struct thread_slot *s = thread_first(); s; s = s->next) {
        uint64_t calls = 0;
        for (int i = 0; i < TRACE_PARTS; i++)
            calls += s->t.cost_calls[i];
        if (s->used && s->t.tid && calls != s->costs_put)
            thread_cost(t, s);
        s->costs_put = calls;
    }
}

/* Does one turn; returns 1 while a thread of the target is left. */
static int poll_one_turn(struct thread_slot *self)
{
    static uint64_t second;
    uint64_t begin = trace_now();
    int each_second = begin - second >= 1000000000u;
    if (!capture_enter())
        return 1;
    recorders_tick(&self->t);
    poll_record_footprint(&self->t, each_second);
    int left = tasks_scan(self, each_second);
    if (each_second) {
        second = begin;
        facts_clock(&self->t);
    }
    poll_put_costs(&self->t, begin);
    capture_leave(&self->t, TRACE_PART_WAIT, 0);
    return left;
}

/* +-50 %, so that no loop of the target keeps step: a round of two sleeps that took as long as the
 * interval had all of its time at one of them. */
static uint64_t poll_jitter(struct capture_thread *t, uint64_t interval)
{
    return (uint64_t)((double)interval * (0.5 + capture_random(t)));
}

/* Tells whether files of the calling thread are seen by another. A child of vfork has a table and a
 * working folder of its own. */
static int poll_others_see(void)
{
    const struct thread_slot *s = thread_self();
    return (!s || s->t.ours || thread_count() > 1) && capture_is_here();
}

/* A table of descriptors of its own, where the kernel grants it. */
static void begin_files(void)
{
    memory_file = -1;
    thread_poll_forget();
    if (!safe_read_has_file())
        trace_writer_unshare(&capture.writer);
    if (capture.writer.apart == syscall(SYS_gettid))
        raw_files_unshare();
    else
        errands_refuse();
}

int poll_thread_tid(uint32_t *tid)
{
    *tid = __atomic_load_n(&own_tid, __ATOMIC_RELAXED);
    return *tid || __atomic_load_n(&state, __ATOMIC_ACQUIRE) != RUNNING;
}

static int is_running(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == RUNNING;
}

/* Registers this thread and does turns; 1: the recording has ended, and the process goes on. */
static int poll_turns(struct thread_slot *self, uint64_t interval)
{
    /* Known rather than read from /proc: a file opened now would take a number that the child of a
     * fork, busy with close and dup2, takes for its own. */
    self->t.stack_high = ((uintptr_t)pthread_self() | 4095) + 1;
    self->t.stack_low = self->t.stack_high - STACK_BYTES;
    same_cpu_leave();
    poll_gate_lock_own();
    self = thread_register(self, (uint32_t)getpid());
    if (capture.writer.brief)
        facts_clock_source(&self->t);
    poll_gate_unlock();
    for (int left = 1, soon = 0, first = 1; left && capture.on; first = 0) {
        uint32_t ends = poll_gate_ends();
        if (!is_running())
            break;
        /* After the end of the last thread that is known: it needs a moment to be gone. */
        if (!first)
            poll_gate_wait(ends, soon > 0 ? 1000000 : poll_jitter(&self->t, interval));
        soon = thread_count() ? 20 : soon - 1;
        if (!is_running())
            break;
        poll_gate_lock_own();
        left = poll_one_turn(self);
        poll_gate_unlock();
        soon = thread_count() ? 0 : soon;
        if (is_over())
            return 1;
    }
    poll_gate_lock_own();
    thread_end(self);
    poll_gate_unlock();
    return 0;
}

/* Returns ns until the first turn, which saves a brief trace from a signal that ends the process: due
 * as late after its begin as if it had never been asleep. */
static uint64_t poll_first_turn(uint64_t after)
{
    const uint64_t since = asleep.since.r.time_ns, age = since ? trace_now() - since : 0;
    return after > age ? after - age : 1;
}

/* Nothing is recorded before the first turn is due: a process that ends sooner, as most of a
 * shell's and of a build's do, pays for the thread alone. */
static void *poll_thread_main(void *given)
{
    struct thread_slot *self = given;
    one_thread_is_ours();
    raw_chars_uncounted(); /* it does errands before it is registered */
    uint64_t interval = (uint64_t)(1e9 / capture.config.wait_hz);
    uint32_t ends = poll_gate_ends();
    syscall(SYS_prctl, PR_SET_NAME, "tomoprof");
    __atomic_store_n(&own_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    self->t.random = trace_now() ^ (uintptr_t)self;
    begin_files();
    if (is_running())
        poll_gate_wait(ends, poll_first_turn(poll_jitter(&self->t, interval)));
    int over = 0;
    if (is_running() && capture.on)
        over = poll_turns(self, interval);
    else
        thread_forget(self);
    errands_refuse();
    __atomic_store_n(&state, ENDED, __ATOMIC_RELEASE);
    if (!over)
        raw_futex_wake(&state, 1);
    return NULL;
}

static int begin_own(void *(*body)(void *), size_t stack_bytes, int alone)
{
    static void *next;
    typedef int (*fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct thread_slot *s = thread_claim();
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    if (!s)
        return ENOMEM;
    s->t.ours = 1;
    signals_fill(&all);
    signals_mask(SIG_SETMASK, &all, &old); /* inherited */
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, stack_bytes);
    fn create = (fn)raw_next(&next, "pthread_create");
    int was = alone && one_thread_begin(), here = alone && capture.writer.brief && same_cpu_begin();
    int failed = create(&thread, &attr, body, s);
    if (here)
        same_cpu_end();
    one_thread_keep(was);
    pthread_attr_destroy(&attr);
    signals_mask(SIG_SETMASK, &old, NULL);
    if (failed)
        thread_forget(s);
    return failed;
}

int thread_begin_own(void *(*body)(void *), size_t stack_bytes)
{
    return begin_own(body, stack_bytes, 0);
}

void poll_thread_begin(void)
{
    if (!capture.on)
        return;
    state = RUNNING;
    own_tid = 0;
    costs_from = trace_now();
    costs_next = 0;
    raw_files_seen_by(poll_others_see);
    errands_take(poll_gate_call);
    int failed = begin_own(poll_thread_main, STACK_BYTES, 1);
    if (!failed)
        return;
    errands_refuse();
    state = NONE;
    capture_note(capture_self(), 1, "wait", "waiting threads and memory are not sampled: %s",
                 raw_error_text(failed));
}

int poll_thread_stop(void)
{
    uint32_t running = RUNNING;
    uint64_t end = trace_now() + 1000000000u;
    struct thread_slot *s = thread_self();
    if ((s && s->t.ours) || !__atomic_compare_exchange_n(&state, &running, STOPPING, 0,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 0;
    poll_gate_wake();
    for (uint64_t now;
         (now = trace_now()) < end && __atomic_load_n(&state, __ATOMIC_ACQUIRE) == STOPPING;)
        raw_futex_wait(&state, STOPPING, end - now);
    /* The last step out of the C library and the kernel. */
    while (trace_now() < end &&
           syscall(SYS_tgkill, getpid(), __atomic_load_n(&own_tid, __ATOMIC_RELAXED), 0) == 0)
        raw_futex_wait(&state, ENDED, 50000);
    int has_ended = __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ENDED;
    if (!has_ended) /* what the caller does must reach it */
        one_thread_end();
    return has_ended;
}

/* At a moment at which the target allocates or makes a thread itself, or (asleep.c) could. */
static void begin_late(int makes_thread)
{
    const int is_time = (is_brief && makes_thread) || trace_now() >= not_before;
    struct capture_thread *t = capture_self();
    const uint64_t begin = is_time && t ? thread_poll_cpu(0) : THREAD_POLL_UNKNOWN;
    if (!capture_is_here() || !is_time || !thread_take_off())
        return;
    poll_thread_begin();
    const uint64_t end = is_brief ? thread_poll_cpu(0) : THREAD_POLL_UNKNOWN;
    if (begin != THREAD_POLL_UNKNOWN && end != THREAD_POLL_UNKNOWN)
        t->cost_ns[TRACE_PART_WAKE] += end - begin;
}

int poll_thread_is_late(void)
{
    return is_brief && thread_is_put_off();
}

/* Most processes that wake for a line that they write end before the thread would do anything: 70
 * of the 245 us that such a child of a shell took more were for the thread. */
void poll_thread_begin_awake(void)
{
    not_before = asleep.since.r.time_ns + ASLEEP_NS;
    is_brief = trace_now() < not_before;
    raw_files_seen_by(poll_others_see);
    if (!is_brief)
        poll_thread_begin();
    else if (capture.on)
        thread_put_off(begin_late);
}

void poll_thread_forked(uint32_t others)
{
    state = NONE;
    one_thread_forked();
    errands_forked();
    own_tid = 0;
    not_before = aside = 0;
    is_brief = was_put_off = 0;
    (void)thread_take_off();
    if (others)
        thread_put_off(begin_late);
}

/* CPython from 3.12 on counts the threads of the process after a fork, and warns on stderr where
 * there are several: then it must find one less. It asks within microseconds; the thread comes back
 * with a later allocation. */
#define ASIDE_NS 20000000u

static int fork_alone;

static void poll_thread_stay_away(void)
{
    not_before = trace_now() + ASIDE_NS;
    is_brief = 0;
}

void poll_thread_step_aside(void)
{
    was_put_off |= thread_take_off();
    fork_alone = recorders_fork_alone();
    aside = fork_alone && poll_thread_stop();
}

void poll_thread_return(void)
{
    if (!aside && !was_put_off)
        return;
    if (fork_alone)
        poll_thread_stay_away();
    aside = was_put_off = 0;
    thread_put_off(begin_late);
}

int poll_thread_leave(void)
{
    int left = poll_thread_stop();
    if (left || thread_is_put_off()) {
        poll_thread_stay_away();
        thread_put_off(begin_late);
    }
    return left;
}

/* A child whose parent had other threads may find their locks held for ever, malloc's as well where
 * it is not libc's: there the thread starts when the child is seen to allocate or make threads. */
void poll_thread_begin_child(void)
{
    if (capture.on && !thread_is_put_off())
        poll_thread_begin_awake();
}
