/* When a short process wakes, and what is written of one that does not. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/own_stack.h"
#include "profiler/capture/raw/system.h"

#define AGAIN_NS  1000000
#define HARDLY_NS 4000000

static const struct asleep_calls *asleep_calls;
static enum asleep_kind asleep_left; /* what it was, until it is known whether an exec fails */
static char asleep_stack[HANDLER_STACK] __attribute__((aligned(64)));

static void asleep_arm(long ns)
{
    struct itimerspec when = {{0, 0}, {0, ns}};
    syscall(SYS_timer_settime, asleep.timer, 0, &when, NULL);
}

#ifdef __x86_64__
static int asleep_is_libc(uintptr_t address)
{
    const char *name = modules_name_at(address);
    return name && (strstr(name, "/libc.so") || strstr(name, "/libc-2"));
}

extern const char __ehdr_start[], _end[]; /* of this library, by the linker */

/* Starting allocates, also where the program is inside of its allocator: of one that is not the C
 * library's (the program's own, a preloaded one) nobody knows that it could be called there. */
static int asleep_allocator_is_known(void)
{
    static void *next;
    return asleep.allocator >= (uintptr_t)__ehdr_start && asleep.allocator < (uintptr_t)_end &&
           asleep_is_libc((uintptr_t)raw_next(&next, "malloc"));
}

/* Holds for the children of a process, of which each would touch eight pages to find it out. */
static enum { ALLOCATOR_NEW, ALLOCATOR_KNOWN, ALLOCATOR_OTHER } asleep_allocator;

static void asleep_allocator_find(void)
{
    if (asleep_allocator == ALLOCATOR_NEW)
        asleep_allocator = asleep_allocator_is_known() ? ALLOCATOR_KNOWN : ALLOCATOR_OTHER;
}

void asleep_expect_fork(void)
{
    asleep_allocator_find();
    (void)trace_crc(0, "", 0); /* asks the processor, 6 us in a virtual machine, once */
}

static int asleep_is_possible(void)
{
    const struct capture_config *c = &capture.config;
    if (c->launcher <= 0 || (double)getppid() == c->launcher || c->calls_share >= 1 ||
        !(c->modes & CAPTURE_CPU))
        return 0;
    asleep_allocator_find();
    return asleep_allocator == ALLOCATOR_KNOWN;
}

/* Calls that wait while the caller holds nothing of the C library's and of the loader's. */
static int asleep_call_waits(long number)
{
    static const short calls[] = {SYS_read,          SYS_write,    SYS_readv,   SYS_writev,
                                  SYS_pread64,       SYS_pwrite64, SYS_wait4,   SYS_waitid,
                                  SYS_accept,        SYS_accept4,  SYS_connect, SYS_recvfrom,
                                  SYS_recvmsg,       SYS_sendto,   SYS_sendmsg, SYS_flock,
                                  SYS_rt_sigsuspend, SYS_pause,    SYS_fcntl,   SYS_ioctl};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == number)
            return 1;
    return 0;
}

static uintptr_t asleep_place(const ucontext_t *u)
{
    return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
}

static int asleep_is_call(uintptr_t code)
{
    const uint8_t *p = (const uint8_t *)code;
    return p[0] == 0x0f && p[1] == 0x05;
}

/* The call returns EINTR for this signal alone: it is made again (eintr_restart.c). */
static int asleep_has_interrupted(const ucontext_t *u)
{
    uint64_t pending = 0, blocked;
    if (u->uc_mcontext.gregs[REG_RAX] != -EINTR || !modules_name_at(asleep_place(u)) ||
        !asleep_is_call(asleep_place(u) - 2))
        return 0;
    memcpy(&blocked, &u->uc_sigmask, sizeof blocked);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return !(pending & ~blocked & ~(1ull << (capture.config.signal - 1)));
}

/* Starting makes a thread, which takes locks of the C library. Its own code and the loader's may
 * hold them, but for a call that waits. Code without a name was made at run time. */
static int asleep_may_wake(const ucontext_t *u)
{
    const uintptr_t at = asleep_place(u);
    const long value = (long)u->uc_mcontext.gregs[REG_RAX];
    const char *name = modules_name_at(at);
    if (name && (strstr(name, "/ld-") || strstr(name, "/ld.so")))
        return 0;
    if (asleep_is_libc(at))
        return asleep_is_call(at) ? asleep_call_waits(value)
                                  : asleep_is_call(at - 2) && value == -EINTR;
    return name != modules_name_at((uintptr_t)asleep_stack);
}
#else
void asleep_expect_fork(void)
{
}

static int asleep_is_possible(void)
{
    return 0;
}

static int asleep_may_wake(const ucontext_t *u)
{
    (void)u;
    return 0;
}

static int asleep_has_interrupted(const ucontext_t *u)
{
    (void)u;
    return 0;
}
#endif

static void asleep_end(void)
{
    asleep.on = ASLEEP_NOT;
    asleep_timer_end();
}

static int asleep_timer_make(void)
{
    struct sigevent event = {.sigev_value.sival_ptr = &asleep.timer,
                             .sigev_signo = capture.config.signal,
                             .sigev_notify = SIGEV_THREAD_ID};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    asleep.has_timer = !syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &asleep.timer);
    return asleep.has_timer;
}

/* It is awake; its thread begins when it would have woken otherwise, by the signal that is the
 * sampler's by now. */
static void asleep_watch_thread(void)
{
    if (!poll_thread_is_late())
        return;
    const uint64_t age = trace_now() - asleep.since.r.time_ns;
    if (asleep_timer_make())
        asleep_arm(age < ASLEEP_NS ? (long)(ASLEEP_NS - age) : 1);
    else
        thread_late(1);
}

/* Tells what was asleep, once: the timer's signal may wake it between any two instructions. */
static enum asleep_kind asleep_take(void)
{
    return (enum asleep_kind)__atomic_exchange_n(&asleep.on, ASLEEP_NOT, __ATOMIC_RELAXED);
}

static void asleep_wake_now(void)
{
    const int saved = errno;
    struct thread_slot *s = thread_self();
    const enum asleep_kind kind = asleep.on && s && capture_is_here() ? asleep_take() : ASLEEP_NOT;
    if (kind) {
        asleep_end();
        const uint64_t begin = thread_poll_cpu(0);
        asleep_calls->wake(s, kind == ASLEEP_FORKED);
        asleep_watch_thread();
        thread_cost_add(&s->t, TRACE_PART_WAKE, begin);
    }
    errno = saved;
}

static void asleep_wake(void *a, void *context)
{
    (void)a;
    (void)context;
    asleep_wake_now();
}

/* The handler has blocked all signals: what the program blocks is what it comes back to. */
static void asleep_wake_here(ucontext_t *u)
{
    struct thread_slot *s = thread_self();
    const int before = capture.config.signal, was = s->blocked;
    own_stack_call(asleep_wake, NULL, u, asleep_stack + sizeof asleep_stack);
    if (capture.config.signal == before)
        return;
    s->blocked = sigismember(&u->uc_sigmask, capture.config.signal) == 1;
    sigdelset(&u->uc_sigmask, capture.config.signal);
    if (was)
        sigaddset(&u->uc_sigmask, before);
}

static void asleep_thread_begins(void *a, void *context)
{
    (void)a;
    (void)context;
    thread_late(0);
}

static void asleep_begin_thread(const struct thread_slot *s, ucontext_t *u)
{
    if (poll_thread_is_late() && !s->t.busy && asleep_may_wake(u))
        own_stack_call(asleep_thread_begins, NULL, u, asleep_stack + sizeof asleep_stack);
    if (poll_thread_is_late() && asleep.has_timer)
        asleep_arm(AGAIN_NS);
}

/* Beside other busy processes one that computes for a millisecond takes ten and more by the clock:
 * what has hardly run sleeps on for a while. */
static int asleep_has_hardly_run(void)
{
    const uint64_t before = asleep.since.user_ns + asleep.since.system_ns, now = thread_poll_cpu(0);
    return trace_now() - asleep.since.r.time_ns < 4ull * ASLEEP_NS && now != THREAD_POLL_UNKNOWN &&
           now < before + HARDLY_NS;
}

int asleep_signal(const siginfo_t *info, void *context)
{
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &asleep.timer)
        return 0;
    struct thread_slot *s = thread_self();
    if (!s || !capture_is_here())
        return 1;
    if (asleep_has_interrupted(context))
        s->interrupts++;
    if (!asleep.on) {
        asleep_begin_thread(s, context);
        return 1;
    }
    if (asleep_has_hardly_run())
        asleep_arm(ASLEEP_NS);
    else if (!s->t.busy && asleep_may_wake(context))
        asleep_wake_here(context);
    else
        asleep_arm(AGAIN_NS);
    return 1;
}

static void asleep_handler(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    (void)number;
    if (!asleep_signal(info, context))
        signals_foreign(thread_self(), info, context);
    errno = saved;
}

/* Makes a place among the threads and a signal for a process that was just loaded. */
static int asleep_prepare(const struct recorder *const *recorders, size_t count)
{
    capture.config.signal = signals_choose_asleep(asleep.wanted_signal);
    struct thread_slot *s = capture.config.signal ? thread_register(NULL, 0) : NULL;
    if (!s || signals_install(capture.config.signal, asleep_handler))
        return 0;
    signals_thread(s);
    recorders_asleep(recorders, count);
    return 1;
}

void asleep_set_calls(const struct asleep_calls *calls)
{
    asleep_calls = calls;
}

int asleep_begin(enum asleep_kind kind, const struct capture_parts *parts)
{
    if (!asleep_is_possible() || (parts && !asleep_prepare(parts->recorders, parts->count)))
        return 0;
    const struct thread_slot *s = thread_self();
    if (!s || s->is_dropped || !asleep_timer_make())
        return 0;
    asleep.wake = asleep_wake_now;
    asleep.since = facts_account(TRACE_AT_START);
    capture_off();
    asleep.on = kind;
    asleep_arm(ASLEEP_NS);
    return 1;
}

int asleep_finish(enum trace_end end, int detail, const char *path)
{
    struct thread_slot *s = thread_self();
    /* A filter may forbid getpid() to a process that is awake. */
    const enum asleep_kind left = asleep.on && s && capture_is_here() ? asleep_take() : ASLEEP_NOT;
    if (!left)
        return 0;
    asleep_left = left; /* the timer goes with the process, or with its program */
    asleep_calls->put(s, left == ASLEEP_FORKED, end, detail, path);
    return 1;
}

void asleep_return(void)
{
    struct thread_slot *s = thread_self();
    asleep_end();
    if (s) {
        asleep_calls->go_on(s, asleep_left == ASLEEP_FORKED);
        asleep_watch_thread();
    }
}
