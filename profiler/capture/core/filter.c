/* Ends the recording before the program filters its own system calls, and notices a filter that
 * came unseen by the answers that it gives to ours. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/filter.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/raw/system.h"

#define QUIET_NS 100000000u /* for other threads to leave the library */

static int asked;  /* a thread is at it, or has done it */
static int polled; /* the library's own thread ran */

static void wait_for_others(void)
{
    uint64_t end = trace_now() + QUIET_NS;
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        while (s->used && s->t.tid && s != thread_self() && !s->t.ours &&
               (s->t.busy || s->handling) && trace_now() < end)
            raw_sleep(100000);
}

int filter_begin(void)
{
    int saved = errno;
    if (!capture_is_on() || !capture_is_here() || __atomic_exchange_n(&asked, 1, __ATOMIC_ACQUIRE))
        return 0;
    polled = poll_thread_stop();
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && s->t.tid && !s->t.ours)
            recorders_thread_lost(s);
    signals_withdraw();
    process_filtered(polled);
    capture_off();
    wait_for_others();
    errno = saved;
    return 1;
}

void filter_refused(void)
{
    int saved = errno;
    trace_finish(&capture.writer, TRACE_RUNNING, 0);
    capture.on = 1;
    signals_return();
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && s->t.tid && !s->t.ours && !s->is_dropped)
            recorders_thread_found(s);
    if (polled)
        poll_thread_begin();
    __atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
    errno = saved;
}

void filter_found(void)
{
    /* A brief trace would need a system call, which may end the program. */
    if (capture.on && (!capture.writer.brief || capture.writer.state == TRACE_IN_FILE))
        trace_finish(&capture.writer, TRACE_FILTERED, 0);
    capture_off();
}

/* Without any, its file in /proc is not read, which takes 30 us. */
static int has_filters(void)
{
    return syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

/* How many filters the process has, by proc(5); kernels before 5.9 tell only whether. */
static unsigned long filters_now(void)
{
    const char *text = facts_status(), *line;
    if ((line = strstr(text, "\nSeccomp_filters:")) || (line = strstr(text, "\nSeccomp:")))
        return strtoul(strchr(line, ':') + 1, NULL, 10);
    return 0;
}

int filter_inherited(void)
{
    const char *known = secure_getenv("TOMOPROF_CAPTURE_FILTERS");
    return known && *known && has_filters() && filters_now() > strtoul(known, NULL, 10);
}

static struct sigaction theirs; /* the program's for SIGSYS, while on_trap stands before it */
static int before_theirs;

static int is_call_of_ours(const struct thread_slot *s, const siginfo_t *info)
{
    return info->si_code == 1 /* SYS_SECCOMP */ && s && (s->t.ours || s->t.busy || s->handling);
}

/* The refused call returns ENOSYS. A signal that somebody sent and our own thread got is sent on
 * to the program's threads. */
static void on_trap(int number, siginfo_t *info, void *context)
{
    const struct thread_slot *s = thread_self();
    ucontext_t *u = context;
    if (is_call_of_ours(s, info)) {
        filter_found();
#ifdef __x86_64__
        u->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#else
        u->uc_mcontext.regs[0] = (unsigned long long)-ENOSYS;
#endif
    } else if (s && s->t.ours) {
        sigaddset(&u->uc_sigmask, number);
        syscall(SYS_rt_sigqueueinfo, getpid(), number, info);
    } else if (theirs.sa_flags & SA_SIGINFO) {
        theirs.sa_sigaction(number, info, context);
    } else {
        theirs.sa_handler(number);
    }
}

int filter_set_action(int (*real)(int, const struct sigaction *, struct sigaction *),
                      const struct sigaction *act, struct sigaction *old)
{
    struct sigaction was = theirs, mine;
    int stood = before_theirs;
    if (act) { /* one that is good for a single signal stays the kernel's matter */
        int wrap = capture_is_on() && act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN &&
                   !(act->sa_flags & (int)SA_RESETHAND);
        mine = *act;
        theirs = *act;
        before_theirs = wrap;
        if (wrap) {
            mine.sa_sigaction = on_trap;
            mine.sa_flags |= SA_SIGINFO;
        }
    }
    int failed = real(SIGSYS, act ? &mine : NULL, old);
    if (!failed && old && stood)
        *old = was;
    return failed;
}
