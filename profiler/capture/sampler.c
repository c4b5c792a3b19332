#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/capture/core.h"

#pragma weak capture_stack

/* Timers of the kernel itself: glibc's may allocate, and a child of fork makes them in a handler.
 */
struct kernel_event {
    union sigval value;
    int number, notify, tid, pad[11];
};

static uint64_t period; /* ns of CPU time */

static uint64_t cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t jittered(struct slot *s)
{ /* +-10 %, so that no loop of the target keeps step */
    return (uint64_t)((double)period * (0.9 + 0.2 * capture_random(&s->t)));
}

/* The interval is the net below: a signal that is lost does not end the sampling. */
static void arm(struct slot *s, uint64_t at)
{
    struct timespec interval = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)};
    struct itimerspec when = {interval, {(time_t)(at / 1000000000u), (long)(at % 1000000000u)}};
    s->cpu_next = at;
    syscall(SYS_timer_settime, s->timer, TIMER_ABSTIME, &when, NULL);
}

/* In the kernel: the signal found the thread at the end of a system call. */
static enum trace_mode mode_of(const ucontext_t *u)
{
#ifdef __x86_64__
    uintptr_t pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    if ((pc & 4095) < 2)
        return TRACE_USER;
    const uint8_t *code = (const uint8_t *)pc - 2;
    return code[0] == 0x0f && code[1] == 0x05 ? TRACE_SYSTEM : TRACE_USER;
#else
    (void)u;
    return TRACE_USER;
#endif
}

static void sample(struct slot *s, void *context)
{
    uint64_t entered = trace_now(), now = cpu_now();
    struct trace_sample r = {.r.kind = TRACE_SAMPLE,
                             .r.time_ns = entered,
                             .weight_ns = now - s->cpu_last,
                             .tid = s->t.tid,
                             .mode = mode_of(context)};
    uint64_t next = s->cpu_next + jittered(s);
    arm(s, next > now ? next : now + jittered(s));
    if (!capture_enter_handler()) {
        trace_lost(&capture.writer, TRACE_LOST_SAMPLES, 1);
        return;
    }
    r.stack = capture_stack ? capture_stack(&s->t, context, NULL) : 0;
    if (trace_put(&s->t.stream, &r.r, sizeof r, NULL, 0))
        s->sampled_ns += r.weight_ns;
    s->cpu_last = now;
    capture_leave(&s->t, TRACE_PART_SAMPLER, entered);
}

static void handler(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)number;
    (void)info;
    struct slot *s = thread_self();
    if (s && s->timer_on && capture.on)
        sample(s, context);
    errno = saved;
}

static void thread_start(struct capture_thread *t)
{
    struct slot *s = (struct slot *)t;
    struct kernel_event event = {
        .value.sival_ptr = s, .number = capture.config.signal, .notify = 4, .tid = (int)t->tid};
    s->cpu_last = cpu_now();
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &s->timer)) {
        trace_lost(&capture.writer, TRACE_LOST_THREADS, 1);
        return;
    }
    s->timer_on = 1;
    arm(s, s->cpu_last + (uint64_t)((double)period * capture_random(t)));
}

static void thread_stop(struct capture_thread *t)
{
    struct slot *s = (struct slot *)t;
    if (s->timer_on)
        syscall(SYS_timer_delete, s->timer);
    s->timer_on = 0;
}

static int start(void)
{
    period = (uint64_t)(1e9 / capture.config.cpu_hz);
    if (!capture.config.signal)
        return EBUSY;
    return signals_install(capture.config.signal, handler);
}

const struct capture_part part_sampler = {.name = "sampler",
                                          .index = 0,
                                          .modes = CAPTURE_CPU,
                                          .start = start,
                                          .thread_start = thread_start,
                                          .thread_end = thread_stop};
