/* The sampler's signal belongs to the target too: what it does with this number is kept here and
 * told back; a signal of this number that is not ours goes where the target wants it. It is left
 * out of every mask, or a target that blocks all signals would not be seen. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/system.h"

typedef int (*sigaction_fn)(int, const struct sigaction *, struct sigaction *);
typedef int (*mask_fn)(int, const sigset_t *, sigset_t *);

static struct sigaction theirs CAPTURE_NEAR; /* for the sampler's number */
static int installed;                        /* that number, 0: none */
static int on_stack = SA_ONSTACK;
static void (*installed_handler)(int, siginfo_t *, void *);

static int real_sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
    static void *next;
    return ((sigaction_fn)raw_next(&next, "sigaction"))(number, act, old);
}

int signals_mask(int how, const sigset_t *set, sigset_t *old)
{
    static void *next;
    return ((mask_fn)raw_next(&next, "pthread_sigmask"))(how, set, old);
}

static int is_free(int number)
{
    struct sigaction now;
    return real_sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_DFL;
}

static int is_traced(void)
{
    const char *line = strstr(facts_status(), "\nTracerPid:\t");
    return line && line[sizeof "\nTracerPid:\t" - 1] != '0';
}

/* From the top: programs that want one start at SIGRTMIN. Debuggers stop the program at a real-time
 * signal and pass SIGPROF on in silence. */
int signals_choose(int wanted)
{
    if (wanted)
        return wanted;
    if (is_traced() && is_free(SIGPROF))
        return SIGPROF;
    for (int number = SIGRTMAX - 2; number > SIGRTMIN; number--)
        if (is_free(number))
            return number;
    return 0;
}

int signals_choose_asleep(int wanted)
{
    return wanted ? wanted : is_free(SIGPROF) ? SIGPROF : 0;
}

/* All signals wait while the handler runs: one that arrives meanwhile must end the system call that
 * ours has interrupted (eintr_restart.c). Two do not wait, for what the handler itself does would end
 * the program then: SIGSYS, which a filter sends for a call of it (filter.c), and SIGBUS, where the
 * disk does not give a page of the trace (fatal.c). */
void signals_fill(sigset_t *set)
{
    sigfillset(set);
    sigdelset(set, SIGSYS);
    sigdelset(set, SIGBUS);
}

int signals_install(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction act = {.sa_sigaction = handler,
                            .sa_flags = SA_SIGINFO | SA_RESTART | on_stack};
    signals_fill(&act.sa_mask);
    if (real_sigaction(number, &act, installed ? NULL : &theirs))
        return errno;
    installed = number;
    installed_handler = handler;
    return 0;
}

static int signals_change_mask(int how, int number)
{
    sigset_t one, old;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigemptyset(&old);
    signals_mask(how, &one, &old);
    return sigismember(&old, number);
}

void signals_thread(struct thread_slot *s)
{
    if (installed && signals_change_mask(SIG_UNBLOCK, installed))
        s->blocked = 1;
}

static __thread int held;

void signals_hold(int on)
{
    if (!installed)
        return;
    if (on)
        held = signals_change_mask(SIG_BLOCK, installed);
    else if (!held)
        signals_change_mask(SIG_UNBLOCK, installed);
}

void signals_leave(int leaving)
{
    struct thread_slot *s = thread_self();
    if (installed && s && s->blocked && !s->is_dropped)
        signals_change_mask(leaving ? SIG_BLOCK : SIG_UNBLOCK, installed);
}

/* A signal that is ignored for a moment does not wait any longer, on any thread. */
void signals_withdraw(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (!installed)
        return;
    asleep_timer_end();
    signals_leave(1);
    real_sigaction(installed, &ignore, NULL);
    real_sigaction(installed, &theirs, NULL);
    installed = 0;
}

/* Takes SIGPROF instead, where the calling thread is the only one and the program does not use
 * SIGPROF. 1: that is the number now. */
int signals_choose_traced(struct thread_slot *s)
{
    if (installed == SIGPROF)
        return 1;
    if (!installed || thread_count() != 1 || !is_free(SIGPROF))
        return 0;
    signals_withdraw();
    s->blocked = 0;
    capture.config.signal = SIGPROF;
    return !signals_install(SIGPROF, installed_handler);
}

void signals_return(void)
{
    if (!capture.config.signal || !installed_handler)
        return;
    signals_install(capture.config.signal, installed_handler);
    signals_leave(0);
}

/* Blocked by the target: it waits for good, and this thread is not sampled any longer. */
static void signals_drop_thread(struct thread_slot *s, siginfo_t *info, ucontext_t *u)
{
    s->is_dropped = 1;
    recorders_thread_lost(s);
    trace_lost(&capture.writer, TRACE_LOST_THREADS, 1);
    sigaddset(&u->uc_sigmask, installed);
    if (info->si_code == SI_TKILL)
        syscall(SYS_rt_tgsigqueueinfo, getpid(), s->t.tid, installed, info);
    else
        syscall(SYS_rt_sigqueueinfo, getpid(), installed, info);
}

void signals_foreign(struct thread_slot *s, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    struct sigaction act = theirs;
    if (s && s->blocked && !s->is_dropped) {
        signals_drop_thread(s, info, u);
        return;
    }
    if (!(act.sa_flags & SA_SIGINFO) && act.sa_handler == SIG_IGN)
        return;
    if (!(act.sa_flags & SA_SIGINFO) && act.sa_handler == SIG_DFL) {
        struct sigaction end = {.sa_handler = SIG_DFL};
        real_sigaction(installed, &end, NULL); /* which ends the process on return */
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), installed);
        return;
    }
    if (act.sa_flags & SA_RESETHAND)
        theirs = (struct sigaction){.sa_handler = SIG_DFL};
    sigset_t all, during = u->uc_sigmask;
    for (int i = 1; i <= SIGRTMAX; i++)
        if (sigismember(&act.sa_mask, i) == 1)
            sigaddset(&during, i);
    signals_mask(SIG_SETMASK, &during, &all);
    if (act.sa_flags & SA_SIGINFO)
        act.sa_sigaction(installed, info, context);
    else
        act.sa_handler(installed);
    signals_mask(SIG_SETMASK, &all, NULL);
}

int signals_is_ours(int number)
{
    return installed && number == installed && capture_is_here();
}

void signals_set_action(const struct sigaction *act, struct sigaction *old)
{
    struct sigaction was = theirs;
    if (act)
        theirs = *act;
    if (old)
        *old = was;
}

int signals_set_mask(mask_fn real, int how, const sigset_t *set, sigset_t *old)
{
    struct thread_slot *s = thread_self();
    if (!installed || !s || s->is_dropped)
        return real(how, set, old);
    int was = s->blocked, now = was;
    sigset_t mine;
    if (set) {
        int in = sigismember(set, installed);
        now = how == SIG_BLOCK ? was || in : how == SIG_UNBLOCK ? was && !in : in;
        mine = *set;
        sigdelset(&mine, installed);
    }
    int failed = real(how, set ? &mine : NULL, old);
    if (failed)
        return failed;
    s->blocked = now;
    if (old && was)
        sigaddset(old, installed);
    return 0;
}

/* Ours is left out of the masks of its handlers, or no sample would see them. */
int signals_set_other(sigaction_fn real, int number, const struct sigaction *act,
                      struct sigaction *old)
{
    static uint64_t had_ours; /* bit per signal: its mask */
    uint64_t bit = number > 0 && number <= 64 ? 1ull << (number - 1) : 0;
    struct sigaction mine;
    int is = installed && bit && capture_is_here();
    uint64_t before = __atomic_load_n(&had_ours, __ATOMIC_RELAXED);
    int has = is && act && sigismember(&act->sa_mask, installed) == 1;
    if (has) {
        mine = *act;
        sigdelset(&mine.sa_mask, installed);
    }
    int failed = real(number, has ? &mine : act, old);
    if (failed || !is)
        return failed;
    if (old && before & bit)
        sigaddset(&old->sa_mask, installed);
    if (act && has)
        __atomic_fetch_or(&had_ours, bit, __ATOMIC_RELAXED);
    else if (act)
        __atomic_fetch_and(&had_ours, ~bit, __ATOMIC_RELAXED);
    return 0;
}

/* A set to wait for, without ours, which a waiting thread would take for the target's. */
const sigset_t *signals_without(const sigset_t *set, sigset_t *room)
{
    struct thread_slot *s = thread_self();
    if (!installed || !set || !s || s->is_dropped || sigismember(set, installed) != 1)
        return set;
    *room = *set;
    sigdelset(room, installed);
    return room;
}

/* A frame of the kernel and the step to our own stack must fit onto the target's; where they would
 * not, the handler starts on the stack that the thread is on. */
void signals_set_stack(const stack_t *stack)
{
    unsigned long frame = getauxval(AT_MINSIGSTKSZ);
    if (stack && !(stack->ss_flags & SS_DISABLE) && installed && on_stack &&
        stack->ss_size < (frame ? frame : 2048) + 4096) {
        on_stack = 0;
        signals_install(installed, installed_handler);
    }
}
