/* Waiting threads, seen from outside: no signal disturbs a sleeping thread. The kernel's counters
 * give the time asleep and the time spent waiting for a CPU exactly; where a thread sleeps is read
 * when it is found asleep. */
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/recorders.h"

#define SLEEP_LEAST  1000000     /* ns: shorter sleeps are gathered */
#define SLEEP_MOST   250000000   /* a longer one is recorded piece by piece */
#define SLEEPER_MOST 5           /* intervals between two looks at a thread that sleeps on */
#define WOKEN_MOST   2000000000u /* kept until it is found asleep; then it is where it computed */
#define BUDGET       50          /* a turn takes at most this part of the time between two */

static int state_of(uint32_t tid)
{
    int state = thread_poll_state(tid, NULL);
    return state == 'D' ? TRACE_DISK : state == 'T' || state == 't' ? TRACE_STOPPED : TRACE_SLEEP;
}

static void wait_put(struct capture_thread *t, struct thread_slot *s, uint64_t end, uint64_t stack,
                     uint64_t weight, int runnable)
{
    struct trace_wait r = {.r.kind = TRACE_WAIT,
                           .r.time_ns = end,
                           .stack = stack,
                           .weight_ns = weight,
                           .tid = s->t.tid,
                           .state = runnable ? TRACE_RUNNABLE : s->wait_state,
                           .syscall = runnable ? -1 : s->wait_syscall};
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

/* With the time for which it was ready for a CPU after it woke: it was still there. */
static void put_sleep(struct capture_thread *t, struct thread_slot *s, uint64_t end)
{
    uint64_t slept = s->sleep_pending > 0 ? (uint64_t)s->sleep_pending : 0;
    if (s->woken_pending) /* beside the sleep on the line of time, not in it */
        wait_put(t, s, end - slept, s->wait_stack, s->woken_pending, 1);
    s->woken_pending = 0;
    if (!slept)
        return;
    wait_put(t, s, end, s->wait_stack, slept, 0);
    s->sleep_pending = 0;
}

/* The time ready for a CPU, by what came before: a sleep, or a turn that the kernel ended, where it
 * is where it computed. 600 commits of 1 ms of work each on a loaded machine took 2.1 s by their
 * own clock: 0.4 s asleep, the rest ready for a CPU after that. */
static void put_ready(struct capture_thread *t, struct thread_slot *s)
{
    uint64_t asleep, forced, woken = 0;
    if (thread_poll_switches(s->t.tid, &asleep, &forced)) {
        double slept = (double)(asleep - s->seen_asleep), ended = (double)(forced - s->seen_forced);
        if (slept + ended > 0)
            woken = (uint64_t)((double)s->runnable_pending * slept / (slept + ended));
        s->seen_asleep = asleep;
        s->seen_forced = forced;
    }
    s->woken_pending += woken;
    if (s->runnable_pending > woken)
        wait_put(t, s, s->seen_ns, 0, s->runnable_pending - woken, 1);
    s->runnable_pending = 0;
}

/* Finds the place where the thread sleeps now; 0 when it runs: the facts about its last sleep
 * stay. */
static int wait_find_place(struct capture_thread *t, struct thread_slot *s)
{
    struct thread_poll_place at;
    if (!thread_poll_place(s->t.tid, &at))
        return 0;
    s->wait_syscall = (int16_t)at.call;
    s->wait_state = (int16_t)state_of(s->t.tid);
    s->wait_stack = capture_stack_of(t, (pid_t)s->t.tid, at.pc, at.sp);
    return 1;
}

/* A sleeper that has not run since: its clock says so in one call, the kernel's file takes three
 * and some 3 us. */
static int sleeps_on(const struct thread_slot *s)
{
    return s->wait_known && s->seen_cpu && thread_poll_cpu(s->t.tid) == s->seen_cpu;
}

/* Time on a CPU, and ready for one, by the kernel; 0: it does not tell. */
static int account_of(uint32_t tid, uint64_t *cpu, uint64_t *delay)
{
    char text[96];
    if (!thread_poll_account(tid, text, sizeof text))
        return 0;
    thread_poll_number(thread_poll_number(text, cpu), delay);
    uint64_t exact = thread_poll_cpu(tid); /* the file lags by a tick of the scheduler */
    *cpu = exact == THREAD_POLL_UNKNOWN ? *cpu : exact;
    return 1;
}

/* The main thread's account begins here: under load the first look at it comes late. */
static void wait_thread_start(struct capture_thread *t)
{
    struct thread_slot *s = (struct thread_slot *)t;
    if (t->tid == (uint32_t)capture.pid && account_of(t->tid, &s->seen_cpu, &s->seen_delay))
        s->seen_ns = trace_now();
}

/* It could not be told of: it has slept and was ready for a CPU for too short a time since the last
 * look, or there was none. */
static int is_too_short(const struct thread_slot *s)
{
    if (!s->seen_ns || s->wait_known || s->woken_pending)
        return !s->seen_ns;
    const uint64_t cpu = thread_poll_cpu(s->t.tid);
    const int64_t rest = (int64_t)(trace_now() - s->seen_ns) - (int64_t)(cpu - s->seen_cpu);
    return cpu != THREAD_POLL_UNKNOWN && s->sleep_pending + rest < SLEEP_LEAST &&
           (int64_t)s->runnable_pending + rest < SLEEP_LEAST;
}

/* `interval` 0: at its end, where the thread itself may ask and is not asleep. */
static void poll_thread(struct capture_thread *t, struct thread_slot *s, uint64_t interval)
{
    uint64_t cpu = s->seen_cpu, delay = s->seen_delay;
    if (!interval && is_too_short(s))
        return;
    if (!sleeps_on(s) && !account_of(s->t.tid, &cpu, &delay))
        return;
    uint64_t now = trace_now();
    uint64_t ran = cpu - s->seen_cpu, queued = delay - s->seen_delay, wall = now - s->seen_ns;
    uint64_t woke = now - (ran < wall ? ran : 0); /* what it ran, it ran since */
    int first = !s->seen_ns;
    s->seen_ns = now;
    s->seen_cpu = cpu;
    s->seen_delay = delay;
    if (first)
        return;
    /* Below 0 where it was ready for a CPU already when it seemed asleep: what was told too much is
     * taken from its next sleep, so that the sum is the kernel's. */
    s->sleep_pending += (int64_t)(wall - ran - queued);
    s->runnable_pending += queued;
    if (s->runnable_pending >= SLEEP_LEAST)
        put_ready(t, s);
    if (!ran && s->wait_known) { /* still there */
        const uint64_t most =
            SLEEPER_MOST * interval < SLEEP_MOST ? SLEEPER_MOST * interval : SLEEP_MOST;
        s->poll_every = s->poll_every * 2 < most ? s->poll_every * 2 : most;
    } else {
        if (s->wait_known) /* where it was found asleep: there it woke */
            put_sleep(t, s, woke);
        s->poll_every = interval;
        s->wait_known = interval && s->sleep_pending + (int64_t)s->woken_pending >= SLEEP_LEAST &&
                        wait_find_place(t, s);
    }
    if (!s->wait_known && (!interval || s->woken_pending >= WOKEN_MOST)) {
        if (s->woken_pending)
            wait_put(t, s, now, 0, s->woken_pending, 1);
        s->woken_pending = 0;
    }
    if (s->wait_known && s->sleep_pending >= SLEEP_MOST)
        put_sleep(t, s, now);
    s->poll_at = now + s->poll_every - interval / 2; /* turns come 0.5 to 1.5 intervals apart */
}

/* Records the pending rest: asleep where it was found last, at an unknown place where it never
 * was. */
static void wait_thread_pending(struct capture_thread *t, struct thread_slot *s)
{
    poll_thread(t, s, 0);
    if (!s->wait_stack) {
        s->wait_state = TRACE_SLEEP;
        s->wait_syscall = -1;
    }
    if (s->sleep_pending >= SLEEP_LEAST)
        put_sleep(t, s, s->seen_ns);
    s->sleep_pending = 0;
}

static void wait_tick(struct capture_thread *t)
{
    static struct thread_slot *from; /* where the last turn ran out of time */
    uint64_t interval = (uint64_t)(1e9 / capture.config.wait_hz);
    uint64_t end = trace_now() + interval / BUDGET;
    struct thread_slot *s = from ? from : thread_first(), *stop = s;
    do {
        uint64_t now = trace_now();
        if (now > end)
            break;
        if (s->used && s->t.tid && !s->t.ours && now >= s->poll_at)
            poll_thread(t, s, interval);
        s = s->next ? s->next : thread_first();
    } while (s != stop);
    from = s;
}

const struct recorder wait_recorder = {
    .name = "wait",
    .modes = CAPTURE_WAIT,
    .thread_start = wait_thread_start,
    .thread_pending = wait_thread_pending,
    .tick = wait_tick,
};
