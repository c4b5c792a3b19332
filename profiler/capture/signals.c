#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core.h"

typedef int (*sigaction_fn)(int, const struct sigaction *, struct sigaction *);

static int real_sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
    static void *next;
    return ((sigaction_fn)capture_next(&next, "sigaction"))(number, act, old);
}

/* From the top: programs that want one start at SIGRTMIN. */
int signals_choose(int wanted)
{
    struct sigaction now;
    if (wanted)
        return wanted;
    for (int number = SIGRTMAX - 2; number > SIGRTMIN; number--)
        if (real_sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            return number;
    return 0;
}

int signals_install(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction act = {.sa_sigaction = handler,
                            .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&act.sa_mask);
    return real_sigaction(number, &act, NULL) ? errno : 0;
}

void signals_thread(struct slot *s)
{
    (void)s;
}
