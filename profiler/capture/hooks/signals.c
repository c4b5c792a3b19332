/* Functions for signals: what the target does with the sampler's own number does not reach the
 * kernel (core/signals.c). */
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/filter.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cpu/phase.h"
#include "profiler/capture/recorders/failure/exception.h"
#include "profiler/capture/recorders/failure/fatal.h"

typedef int (*mask_fn)(int, const sigset_t *, sigset_t *);

int hook_sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
    static void *next;
    typedef int (*fn)(int, const struct sigaction *, struct sigaction *);
    fn real = (fn)raw_next(&next, "sigaction");
    exception_may_end();
    if (number == SIGSYS)
        return filter_set_action(real, act, old);
    if (!signals_is_ours(number))
        return signals_set_other(fatal_covers(number) ? fatal_set_action : real, number, act, old);
    signals_set_action(act, old);
    return 0;
}

CAPTURE_API int sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
    return hook_sigaction(number, act, old);
}

static sighandler_t set_handler(void **next, const char *name, int number, sighandler_t handler,
                                int flags)
{
    struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, was;
    if (number == SIGSYS || fatal_covers(number)) {
        if (!(flags & (int)SA_NODEFER))
            sigaddset(&act.sa_mask, number);
        return hook_sigaction(number, &act, &was) ? SIG_ERR : was.sa_handler;
    }
    if (!signals_is_ours(number))
        return ((sighandler_t(*)(int, sighandler_t))raw_next(next, name))(number, handler);
    signals_set_action(&act, &was);
    return was.sa_handler;
}

#define SIGNAL_FUNCTION(name, flags)                                                               \
    CAPTURE_API sighandler_t name(int number, sighandler_t handler)                                \
    {                                                                                              \
        static void *next;                                                                         \
        return set_handler(&next, #name, number, handler, flags);                                  \
    }
sighandler_t bsd_signal(int number, sighandler_t handler);
SIGNAL_FUNCTION(signal, SA_RESTART)
SIGNAL_FUNCTION(bsd_signal, SA_RESTART)
SIGNAL_FUNCTION(sysv_signal, SA_RESETHAND | SA_NODEFER)
SIGNAL_FUNCTION(__sysv_signal, SA_RESETHAND | SA_NODEFER)

CAPTURE_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static void *next;
    return signals_set_mask((mask_fn)raw_next(&next, "pthread_sigmask"), how, set, old);
}

CAPTURE_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    static void *next;
    return signals_set_mask((mask_fn)raw_next(&next, "sigprocmask"), how, set, old);
}

CAPTURE_API int signalfd(int fd, const sigset_t *set, int flags)
{
    static void *next;
    sigset_t room;
    return ((int (*)(int, const sigset_t *, int))raw_next(&next, "signalfd"))(
        fd, signals_without(set, &room), flags);
}

CAPTURE_API int sigaltstack(const stack_t *stack, stack_t *old)
{
    static void *next;
    signals_set_stack(stack);
    return ((int (*)(const stack_t *, stack_t *))raw_next(&next, "sigaltstack"))(stack, old);
}

/* Timers that come again and again: samples leave the ticks of the kernel (recorders/cpu). */
CAPTURE_API int setitimer(__itimer_which_t which, const struct itimerval *value,
                          struct itimerval *old)
{
    static void *next;
    typedef int (*fn)(__itimer_which_t, const struct itimerval *, struct itimerval *);
    if (value && (value->it_interval.tv_sec || value->it_interval.tv_usec) && capture_is_on())
        phase_wanted();
    return ((fn)raw_next(&next, "setitimer"))(which, value, old);
}

CAPTURE_API int timer_settime(timer_t timer, int flags, const struct itimerspec *value,
                              struct itimerspec *old)
{
    static void *next;
    typedef int (*fn)(timer_t, int, const struct itimerspec *, struct itimerspec *);
    if (value && (value->it_interval.tv_sec || value->it_interval.tv_nsec) && capture_is_on())
        phase_wanted();
    return ((fn)raw_next(&next, "timer_settime"))(timer, flags, value, old);
}
