/* The CPU sampler: a timer on the CPU clock of each thread, whose signal records the stack. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/filter.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/own_stack.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/cpu/due.h"
#include "profiler/capture/recorders/cpu/phase.h"

/* A sample's weight is the CPU time since the one before, read from the thread's clock: exact where
 * the kernel's tick (4 ms at 250 Hz) makes signals come later and fewer than asked. Beyond this
 * many periods it is not known where the thread was, and the rest stays unsampled. */
#define PERIODS_MAX      10
#define WEIGHT_LEAST_CAP 100000000u /* ns */
#define SOON             10000u     /* ns */
#define TRACED_NS        100000000u /* of CPU time, from PTRACE_TRACEME to the next sample */
/* Samples in a row, seconds inside the library: a handler of the target has jumped out of it, and
 * the stacks did not tell (capture_enter), as on stacks that the target makes. */
#define LEFT_BEHIND 400

/* Timers of the kernel itself: glibc's may allocate, and a child of fork makes them in a handler.
 */
struct kernel_event {
    union sigval value;
    int number, notify, tid, pad[11];
};

static uint64_t period; /* ns of CPU time */
/* Threads that ended lack these samples, most of them too short for one: the next thread's first
 * sample makes up for them. Below 0: they have too much. */
static int64_t lacking;
static uint64_t tick; /* of the kernel, ns */

/* CPU timers come at a tick of the kernel, and so do those of the program: what its handlers do
 * from there on is over before the next tick, and no sample would ever see it (1.7 % of the time
 * for 19). Where the program has such timers, the CPU timer comes up to a tick early, and one of
 * the wall clock from there on until the thread has had the CPU time at which its sample is due. */
volatile int phase_on CAPTURE_HOT;
static int restarts; /* system calls that only the sampler ended are made again */

void phase_wanted(void)
{
    if (phase_on)
        return;
    restarts = 1; /* that timer may end a system call */
    phase_on = 1;
    __atomic_store_n(&capture_counts, 0, __ATOMIC_RELAXED); /* reads and writes are paused around */
}

static uint64_t sampler_jitter(struct thread_slot *s)
{ /* +-50 %, so that no loop of the target keeps step, be its round a period or two */
    return (uint64_t)((double)period * (0.5 + capture_random(&s->t)));
}

/* 1: the sample is taken `after` ns from now, or a little later. */
static int phase_set_moment(struct thread_slot *s, uint64_t after)
{
    struct kernel_event event = {.value.sival_ptr = s,
                                 .number = capture.config.signal,
                                 .notify = SIGEV_THREAD_ID,
                                 .tid = (int)s->t.tid};
    struct itimerspec when = {{0, 0}, {(time_t)(after / 1000000000u), (long)(after % 1000000000u)}};
    struct sample_phase *p = &s->phase;
    if (p->paused) /* in a call that may sleep: set when it returns */
        return 1;
    if (!p->timer_on && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &p->timer))
        return 0;
    p->timer_on = 1;
    p->armed = !syscall(SYS_timer_settime, p->timer, 0, &when, NULL);
    return p->armed;
}

void phase_pause_now(void)
{
    struct thread_slot *s = thread_self();
    if (!s || s->handling || s->phase.paused)
        return;
    s->phase.paused = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (s->phase.armed) {
        struct itimerspec never = {{0, 0}, {0, 0}};
        syscall(SYS_timer_settime, s->phase.timer, 0, &never, NULL);
        s->phase.armed = 0;
    }
}

void phase_resume_now(void)
{
    struct thread_slot *s = thread_self();
    if (!s || s->handling || !s->phase.paused)
        return;
    int saved = errno;
    uint64_t now = thread_poll_cpu(0);
    s->phase.paused = 0;
    if (s->timer_on && now != THREAD_POLL_UNKNOWN && now + tick > s->cpu_next) {
        struct rusage account = {0};
        getrusage(RUSAGE_THREAD, &account);
        s->phase.sleeps = (uint64_t)account.ru_nvcsw;
        phase_set_moment(s, s->cpu_next > now ? s->cpu_next - now : 1);
    }
    errno = saved;
}

/* The interval is the net below: a signal that is lost does not end the sampling. 0, or errno. */
static int arm_timer(struct thread_slot *s, uint64_t at)
{
    struct timespec interval = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)};
    struct itimerspec when = {interval, {(time_t)(at / 1000000000u), (long)(at % 1000000000u)}};
    return syscall(SYS_timer_settime, s->timer, TIMER_ABSTIME, &when, NULL) ? errno : 0;
}

static int sampler_arm(struct thread_slot *s, uint64_t at, uint64_t now)
{
    s->cpu_next = at;
    s->phase.sleeps = s->sleeps_seen;
    if (phase_on && at > now + tick + SOON)
        return arm_timer(s, at - tick);
    if (phase_on && at > now)
        phase_set_moment(s, at - now);
    return arm_timer(s, at);
}

/* The sample is not due yet: 1, and its signal comes again. A thread that has slept meanwhile is
 * not to be woken again: its next tick sets the moment. */
static int is_early(struct thread_slot *s, enum trace_mode mode)
{
    uint64_t now = phase_on && capture.on && s->timer_on ? thread_poll_cpu(0) : THREAD_POLL_UNKNOWN;
    struct rusage account = {0};
    struct sample_phase *p = &s->phase;
    if (now == THREAD_POLL_UNKNOWN)
        return 0;
    p->armed = p->armed && !p->fired;
    p->paused = p->paused && mode == TRACE_SYSTEM; /* else it was left by a jump */
    if (now + SOON >= s->cpu_next)
        return 0;
    getrusage(RUSAGE_THREAD, &account);
    int slept = p->sleeps != (uint64_t)account.ru_nvcsw;
    p->sleeps = (uint64_t)account.ru_nvcsw;
    if (p->fired && slept)
        return !arm_timer(s, s->cpu_next > now + tick + SOON ? s->cpu_next - tick : now + SOON);
    int is_far = s->cpu_next > now + tick + SOON;
    return is_far ? !arm_timer(s, s->cpu_next - tick) : phase_set_moment(s, s->cpu_next - now);
}

/* Makes the timer of `s`, which may be another thread. */
static void sampler_watch(struct thread_slot *s, int other)
{
    struct kernel_event event = {.value.sival_ptr = s,
                                 .number = capture.config.signal,
                                 .notify = SIGEV_THREAD_ID,
                                 .tid = (int)s->t.tid};
    clockid_t clock = other ? (clockid_t)(~s->t.tid << 3 | 6) : CLOCK_THREAD_CPUTIME_ID;
    /* The clock of a thread that begins here is asked once, below. */
    uint64_t now = !other && s->start ? 0 : thread_poll_cpu(other ? s->t.tid : 0);
    /* Found late: its first sample counts for what was before. */
    s->cpu_last = s->whole && !s->sampled_ns ? 0 : now;
    if (asleep.since.r.time_ns && s->t.tid == (uint32_t)capture.pid && !s->sampled_ns)
        s->cpu_last = asleep.since.user_ns + asleep.since.system_ns; /* it was asleep */
    if (now == THREAD_POLL_UNKNOWN || syscall(SYS_timer_create, clock, &event, &s->timer)) {
        trace_lost(&capture.writer, TRACE_LOST_THREADS, 1);
        return;
    }
    uint64_t phase = (uint64_t)((double)period * capture_random(&s->t));
    s->timer_on = 1;
    s->first = 1;
    /* It comes up to a tick later; in the past it would come at once. The clock has gone on: a
     * timer takes some us to make, of which a thread may have few hundred. */
    now = thread_poll_cpu(other ? s->t.tid : 0);
    if (now == THREAD_POLL_UNKNOWN)
        return;
    if (!other && s->start)
        s->cpu_last = s->before = now;
    s->cpu_next = now + (phase > tick + SOON ? phase - tick : SOON);
    arm_timer(s, s->cpu_next);
}

static void sampler_unwatch(struct thread_slot *s)
{
    if (s->timer_on)
        syscall(SYS_timer_delete, s->timer);
    if (s->phase.timer_on)
        syscall(SYS_timer_delete, s->phase.timer);
    s->timer_on = s->phase.timer_on = s->phase.armed = 0;
}

/* A thread's first sample stands for a whole period however soon it comes, for what follows its
 * last one is lost: so many short processes count right in the mean. Of a process's threads the sum
 * is known when they end, and is kept: where the kernel gives threads their turns at its ticks,
 * short ones meet fewer of them. */
static uint64_t first_weight(struct thread_slot *s, uint64_t weight, uint64_t cap)
{
    uint64_t whole = period > tick ? period : tick;
    int64_t lacks = 0, taken = (int64_t)whole;
    if (!s->before)
        return weight < whole ? whole : weight;
    lacks = __atomic_exchange_n(&lacking, 0, __ATOMIC_RELAXED);
    taken += lacks;
    taken = taken > (int64_t)cap ? (int64_t)cap : taken;
    taken = taken < (int64_t)weight ? (int64_t)weight : taken;
    s->repaid = taken - (int64_t)whole;
    __atomic_fetch_add(&lacking, lacks - s->repaid, __ATOMIC_RELAXED);
    return (uint64_t)taken;
}

/* Not of those that no sample can reach. */
static void sampler_add_remainder(const struct thread_slot *s)
{
    uint64_t now = s->before && !s->is_dropped ? thread_poll_cpu(0) : THREAD_POLL_UNKNOWN;
    if (now == THREAD_POLL_UNKNOWN || (!s->sampled_ns && now - s->before > 2 * period + 2 * tick))
        return;
    __atomic_fetch_add(&lacking, (int64_t)(now - s->before) - (int64_t)s->sampled_ns + s->repaid,
                       __ATOMIC_RELAXED);
}

/* In the kernel: the signal found the thread at the end of a system call. Code is not always there
 * for reading: V8 protects what it makes by a key, which the kernel withdraws in a handler. */
static enum trace_mode mode_of(const ucontext_t *u)
{
#ifdef __x86_64__
    uint8_t code[2];
    if (!safe_read((uintptr_t)u->uc_mcontext.gregs[REG_RIP] - 2, code, sizeof code))
        return TRACE_USER;
    return code[0] == 0x0f && code[1] == 0x05 ? TRACE_SYSTEM : TRACE_USER;
#else
    uint32_t code;
    if (!safe_read(u->uc_mcontext.pc - sizeof code, &code, sizeof code))
        return TRACE_USER;
    return code == 0xd4000001 /* svc #0 */ ? TRACE_SYSTEM : TRACE_USER;
#endif
}

/* A page fault leaves no trace in the registers: the counter is at the instruction that
 * faulted. The kernel's account tells: a sample is the kernel's where pages were mapped since the
 * one before and the account still has so much system time that no sample stands for. */
static enum trace_mode mode_by_account(struct thread_slot *s, enum trace_mode mode, uint64_t weight,
                                       const struct rusage *u)
{
    int64_t system = (int64_t)u->ru_stime.tv_sec * 1000000000 + (int64_t)u->ru_stime.tv_usec * 1000,
            owed = s->system_owed + system - s->system_seen, whole = (int64_t)weight;
    uint64_t faults = (uint64_t)u->ru_minflt + (uint64_t)u->ru_majflt;
    int faulted = faults != s->faults_seen;
    s->system_seen = system;
    s->faults_seen = faults;
    if (faulted && 2 * owed >= whole)
        mode = TRACE_SYSTEM;
    owed -= mode == TRACE_SYSTEM ? whole : 0;
    s->system_owed = !faulted && owed > 0 ? 0 : owed < -whole ? -whole : owed;
    return mode;
}

static long long system_result(const ucontext_t *u)
{
#ifdef __x86_64__
    return u->uc_mcontext.gregs[REG_RAX];
#else
    return (long long)u->uc_mcontext.regs[0];
#endif
}

/* The call returns EINTR because of this signal alone: then it is made again (eintr_restart.c).
 * Signals of the target that wait now will be delivered at the same place and must end it. */
static int sampler_interrupted_call(const ucontext_t *u)
{
    uint64_t pending = 0, blocked;
    if (!restarts || system_result(u) != -EINTR)
        return 0;
    memcpy(&blocked, &u->uc_sigmask, sizeof blocked);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return !(pending & ~blocked & ~(1ull << (capture.config.signal - 1)));
}

static int has_slept(struct thread_slot *s, const struct rusage *u)
{
    uint64_t before = s->sleeps_seen;
    s->sleeps_seen = (uint64_t)u->ru_nvcsw;
    return s->sleeps_seen != before;
}

static void sampler_take(struct thread_slot *s, void *context, enum trace_mode mode)
{
    if (!capture.on) /* the recording has ended, and the process goes on */
        sampler_unwatch(s);
    if (!s->timer_on || process_is_over())
        return;
    raw_clock_check(); /* a system call of the program's own may have forbidden the counter */
    uint64_t entered = trace_now(), now = thread_poll_cpu(0), cap = PERIODS_MAX * period;
    struct rusage account = {0};
    getrusage(RUSAGE_THREAD, &account);
    struct sample_due due = sample_due(s->cpu_next, now, s->cpu_last, sampler_jitter(s), tick,
                                       mode == TRACE_SYSTEM, has_slept(s, &account));
    uint64_t weight = due.at - s->cpu_last;
    /* The thread's own clock and timer are there as long as nobody forbids to use them. */
    int why = now == THREAD_POLL_UNKNOWN ? EPERM : sampler_arm(s, due.next, now);
    if (why && why != EINVAL) { /* EINVAL: the timer was taken away meanwhile */
        filter_found();
        return;
    }
    if (!capture_enter_handler(context)) { /* its time goes to the next sample */
        if (++s->lost_in_row > LEFT_BEHIND)
            thread_left(s);
        return;
    }
    s->lost_in_row = 0;
    cap = cap > WEIGHT_LEAST_CAP ? cap : WEIGHT_LEAST_CAP;
    weight = s->first ? first_weight(s, weight, cap) : weight;
    s->first = 0;
    if (weight > cap) {
        trace_lost(&capture.writer, TRACE_LOST_SAMPLES, (weight - cap) / period);
        weight = cap;
    }
    struct trace_sample r = {.r.kind = TRACE_SAMPLE,
                             .r.time_ns = entered,
                             .stack = capture_stack(&s->t, context, NULL),
                             .weight_ns = weight,
                             .tid = s->t.tid,
                             .mode = mode_by_account(s, mode, weight, &account)};
    if (trace_put(&s->t.stream, &r.r, sizeof r, NULL, 0))
        s->sampled_ns += weight;
    s->cpu_last = due.at;
    capture_leave(&s->t, TRACE_PART_SAMPLER, 0);
    thread_cost_add(&s->t, TRACE_PART_SAMPLER, now);
}

/* Pending signals are read last: one that arrives after it, within the microsecond to the
 * return from here, is the one case in which a call goes on that the target's signal should have
 * ended. */
static void sampler_sample(void *slot, void *context)
{
    struct thread_slot *s = slot;
    enum trace_mode mode = mode_of(context);
    if (!is_early(s, mode))
        sampler_take(s, context, mode);
    if (mode == TRACE_SYSTEM && sampler_interrupted_call(context))
        s->interrupts++;
}

/* Identifies a timer: ours carry their slot. */
static struct thread_slot *sampler_slot(const siginfo_t *info)
{
    struct thread_slot *s = thread_self();
    if (info->si_code != SI_TIMER)
        return NULL;
    if (s && s == info->si_value.sival_ptr)
        return s;
    s = thread_first();
    while (s && s != info->si_value.sival_ptr)
        s = s->next;
    return s;
}

static void sampler_handler(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    struct thread_slot *s = sampler_slot(info), *self = thread_self();
    (void)number;
    if (asleep_signal(info, context)) {
        errno = saved;
        return;
    }
    if (!s)
        signals_foreign(self, info, context);
    else if (s == self || (!self && thread_adopt(s))) {
        s->handling = 1;
        s->phase.fired = s->phase.timer_on && info->si_timerid == s->phase.timer;
        own_stack_call(sampler_sample, s, context, s->stack + sizeof s->stack);
        s->handling = 0;
    }
    errno = saved;
}

static void sampler_thread_start(struct capture_thread *t)
{
    struct thread_slot *s = (struct thread_slot *)t;
    if (s->timer_on) /* an adopted thread has one, and lets the signal through */
        return;
    signals_thread(s);
    sampler_watch(s, 0);
}

/* A tracer takes the first stop of its child for that of exec, which usually comes within a
 * millisecond: until then the sampler may not stop it. */
static void thread_traced(struct capture_thread *t, int traced)
{
    struct thread_slot *s = (struct thread_slot *)t;
    sampler_thread_start(t);
    if (traced && s->timer_on) {
        s->cpu_next = s->cpu_last + TRACED_NS;
        arm_timer(s, s->cpu_next);
    }
}

static void thread_found(struct thread_slot *s)
{
    sampler_watch(s, 1);
}

static void thread_stop(struct capture_thread *t)
{
    struct thread_slot *s = (struct thread_slot *)t;
    if (s->timer_on)
        sampler_add_remainder(s);
    sampler_unwatch(s);
}

static void sampler_fork_child(void)
{
    struct thread_slot *s = thread_self();
    lacking = 0;
    if (!s)
        return;
    s->phase = (struct sample_phase){0}; /* timers are not inherited */
    sampler_watch(s, 0);
}

/* Linux from 5.9 on lets a CPU timer fire on the way back to the program alone, never inside a
 * call: there is nothing to make again, and no call may go on that a signal of the target should
 * have ended. TOMOPROF_CAPTURE_SHIELD=1: they are made again all the same (tests). */
static int timers_interrupt(void)
{
    struct utsname u;
    int major, minor;
    if (secure_getenv("TOMOPROF_CAPTURE_SHIELD"))
        return 1;
    return uname(&u) || sscanf(u.release, "%d.%d", &major, &minor) != 2 || major < 5 ||
           (major == 5 && minor < 9);
}

static int sampler_start(void)
{
    struct timespec t = {0};
    clock_getres(CLOCK_MONOTONIC_COARSE, &t);
    tick = (uint64_t)t.tv_nsec;
    period = (uint64_t)(1e9 / capture.config.cpu_hz);
    restarts = timers_interrupt();
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) { /* an exec leaves them on */
        struct itimerval on = {0};
        if (!getitimer((__itimer_which_t)which, &on) &&
            (on.it_interval.tv_sec || on.it_interval.tv_usec))
            phase_wanted();
    }
    return capture.config.signal ? signals_install(capture.config.signal, sampler_handler) : EBUSY;
}

const struct recorder cpu_recorder = {.name = "sampler",
                                      .modes = CAPTURE_CPU,
                                      .start = sampler_start,
                                      .thread_start = sampler_thread_start,
                                      .thread_end = thread_stop,
                                      .thread_traced = thread_traced,
                                      .thread_found = thread_found,
                                      .thread_lost = sampler_unwatch,
                                      .fork_child = sampler_fork_child};
