/* SA_RESTART does not hold for these calls: they end with EINTR after any handler. When only the
 * sampler's ran they are called again, with the time that is left. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cpu/phase.h"
#include "profiler/capture/recorders/io/endpoints.h"
#include "profiler/capture/recorders/io/io.h"

static uint32_t thread_interrupts(void)
{
    struct thread_slot *s = thread_self();
    return s ? s->interrupts : 0;
}

/* Returns 1 where `error` came from the sampler alone. */
static int restart_is_due(int error, uint32_t *before)
{
    uint32_t now = thread_interrupts();
    int ours = error == EINTR && now != *before;
    *before = now;
    return ours;
}

uint32_t interrupts_seen(void)
{
    return thread_interrupts();
}

int interrupted(int error, uint32_t *before)
{
    return restart_is_due(error, before);
}

#define NANO 1000000000ll

static int64_t ns_of(const struct timespec *t)
{
    return t->tv_sec > INT64_MAX / NANO - 1 ? INT64_MAX : t->tv_sec * NANO + t->tv_nsec;
}

/* The moment `timeout` ns from now, INT64_MAX when it never comes or the target's value is wrong.
 */
static int64_t restart_deadline(int64_t timeout)
{
    int64_t end;
    if (timeout < 0 || __builtin_add_overflow((int64_t)trace_now(), timeout, &end))
        return INT64_MAX;
    return end;
}

static int64_t restart_remaining(int64_t end)
{
    int64_t rest = end - (int64_t)trace_now();
    return rest > 0 ? rest : 0;
}

/* Calls without a time, or with an absolute one. */
#define REPEAT(type, name, parameters, arguments)                                                  \
    CAPTURE_API type name parameters                                                               \
    {                                                                                              \
        static void *next;                                                                         \
        type(*real) parameters = (type(*) parameters)raw_next(&next, #name);                       \
        uint32_t before = thread_interrupts();                                                     \
        type r;                                                                                    \
        phase_pause();                                                                             \
        do                                                                                         \
            r = real arguments;                                                                    \
        while (r < 0 && restart_is_due(errno, &before));                                           \
        phase_resume();                                                                            \
        return r;                                                                                  \
    }

REPEAT(int, pause, (void), ())
REPEAT(int, sigsuspend, (const sigset_t *set), (set))
REPEAT(ssize_t, msgrcv, (int id, void *m, size_t n, long type, int flags), (id, m, n, type, flags))
REPEAT(int, msgsnd, (int id, const void *m, size_t n, int flags), (id, m, n, flags))
REPEAT(int, semop, (int id, struct sembuf *ops, size_t n), (id, ops, n))
/* Not restarted when the socket has a timeout, which then starts anew. These are told to the io
 * recorder as well; the kernel's rchar and wchar do not count them. */
#define REPEAT_IO(type, name, parameters, arguments, report)                                       \
    type name parameters;                                                                          \
    CAPTURE_API type name parameters                                                               \
    {                                                                                              \
        static void *next;                                                                         \
        type(*real) parameters = (type(*) parameters)raw_next(&next, #name);                       \
        uint32_t before = thread_interrupts();                                                     \
        uint64_t begin = io_begin();                                                               \
        type r;                                                                                    \
        phase_pause();                                                                             \
        do                                                                                         \
            r = real arguments;                                                                    \
        while (r < 0 && restart_is_due(errno, &before));                                           \
        phase_resume();                                                                            \
        if (begin)                                                                                 \
            report;                                                                                \
        return r;                                                                                  \
    }
/* Linux writes the time that is left into `t`. */
REPEAT_IO(int, select, (int n, fd_set *in, fd_set *out, fd_set *error, struct timeval *t),
          (n, in, out, error, t), io_polled(begin, -1))
#define DATA(op)                                                                                   \
    io_done(&(struct io_call){TRACE_IO_##op, fd, r, IO_HERE, begin, 1}, __builtin_return_address(0))

REPEAT_IO(int, accept, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n), io_accepted(r))
REPEAT_IO(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags),
          io_accepted(r))
REPEAT_IO(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n),
          io_connected(fd, a, n, r, begin, __builtin_return_address(0)))
REPEAT_IO(ssize_t, recv, (int fd, void *b, size_t n, int flags), (fd, b, n, flags), DATA(READ))
REPEAT_IO(ssize_t, __recv_chk, (int fd, void *b, size_t n, size_t room, int flags),
          (fd, b, n, room, flags), DATA(READ))
REPEAT_IO(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), DATA(READ))
REPEAT_IO(ssize_t, recvfrom,
          (int fd, void *b, size_t n, int flags, struct sockaddr *a, socklen_t *an),
          (fd, b, n, flags, a, an), DATA(READ))
REPEAT_IO(ssize_t, send, (int fd, const void *b, size_t n, int flags), (fd, b, n, flags),
          DATA(WRITE))
REPEAT_IO(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),
          DATA(WRITE))
REPEAT_IO(ssize_t, sendto,
          (int fd, const void *b, size_t n, int flags, const struct sockaddr *a, socklen_t an),
          (fd, b, n, flags, a, an), DATA(WRITE))

/* Calls with a timeout in milliseconds, negative for none; `one`: the descriptor where it is for
 * one alone, or below 0. */
#define REPEAT_MS(name, parameters, arguments, one)                                                \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        static void *next;                                                                         \
        int(*real) parameters = (int(*) parameters)raw_next(&next, #name);                         \
        uint32_t before = thread_interrupts();                                                     \
        int64_t end = timeout > 0 ? restart_deadline(timeout * 1000000ll) : INT64_MAX;             \
        uint64_t begin = timeout ? io_begin() : 0;                                                 \
        int r;                                                                                     \
        phase_pause();                                                                             \
        while ((r = real arguments) < 0 && restart_is_due(errno, &before))                         \
            if (end != INT64_MAX)                                                                  \
                timeout = (int)((restart_remaining(end) + 999999) / 1000000);                      \
        phase_resume();                                                                            \
        if (begin && r > 0)                                                                        \
            io_polled(begin, one);                                                                 \
        return r;                                                                                  \
    }

#define ONLY (n == 1 ? fds[0].fd : -1)

REPEAT_MS(poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout), ONLY)
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
REPEAT_MS(__poll_chk, (struct pollfd * fds, nfds_t n, int timeout, size_t room),
          (fds, n, timeout, room), ONLY)
REPEAT_MS(epoll_wait, (int fd, struct epoll_event *events, int n, int timeout),
          (fd, events, n, timeout), -1)
REPEAT_MS(epoll_pwait,
          (int fd, struct epoll_event *events, int n, int timeout, const sigset_t *set),
          (fd, events, n, timeout, set), -1)

/* Calls with a relative time that they do not change, NULL for none. */
#define REPEAT_TIME(name, parameters, arguments, one)                                              \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        static void *next;                                                                         \
        int(*real) parameters = (int(*) parameters)raw_next(&next, #name);                         \
        uint32_t before = thread_interrupts();                                                     \
        int64_t end = time ? restart_deadline(ns_of(time)) : INT64_MAX;                            \
        uint64_t begin = io_begin();                                                               \
        struct timespec rest;                                                                      \
        int r;                                                                                     \
        phase_pause();                                                                             \
        while ((r = real arguments) < 0 && restart_is_due(errno, &before)) {                       \
            int64_t ns = end == INT64_MAX ? 0 : restart_remaining(end);                            \
            rest = (struct timespec){ns / NANO, ns % NANO};                                        \
            time = end == INT64_MAX ? time : &rest;                                                \
        }                                                                                          \
        phase_resume();                                                                            \
        if (begin && r > 0)                                                                        \
            io_polled(begin, one);                                                                 \
        return r;                                                                                  \
    }

REPEAT_TIME(ppoll,
            (struct pollfd * fds, nfds_t n, const struct timespec *time, const sigset_t *set),
            (fds, n, time, set), ONLY)
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *set,
                size_t room);
REPEAT_TIME(__ppoll_chk,
            (struct pollfd * fds, nfds_t n, const struct timespec *time, const sigset_t *set,
             size_t room),
            (fds, n, time, set, room), ONLY)
REPEAT_TIME(pselect,
            (int n, fd_set *in, fd_set *out, fd_set *error, const struct timespec *time,
             const sigset_t *set),
            (n, in, out, error, time, set), -1)
REPEAT_TIME(epoll_pwait2,
            (int fd, struct epoll_event *events, int n, const struct timespec *time,
             const sigset_t *set),
            (fd, events, n, time, set), -1)
REPEAT_TIME(semtimedop, (int id, struct sembuf *ops, size_t n, const struct timespec *time),
            (id, ops, n, time), -1) /* it gives 0, and is not counted */

CAPTURE_API int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
    static void *next;
    typedef int (*fn)(const sigset_t *, siginfo_t *, const struct timespec *);
    fn real = (fn)raw_next(&next, "sigtimedwait");
    uint32_t before = thread_interrupts();
    int64_t end = time ? restart_deadline(ns_of(time)) : INT64_MAX;
    struct timespec rest;
    sigset_t room;
    for (;;) {
        const sigset_t *asked = signals_without(set, &room);
        phase_pause();
        int r = real(asked, info, time);
        phase_resume();
        if (r >= 0 || errno != EINTR)
            return r;
        int more = asked != set && signals_without(set, &room) == set; /* now all of it is theirs */
        if (!restart_is_due(errno, &before) && !more)
            return r;
        int64_t ns = end == INT64_MAX ? 0 : restart_remaining(end);
        rest = (struct timespec){ns / NANO, ns % NANO};
        time = end == INT64_MAX ? time : &rest;
    }
}

CAPTURE_API int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return sigtimedwait(set, info, NULL);
}

CAPTURE_API int sigwait(const sigset_t *set, int *number)
{
    int r, saved = errno;
    while ((r = sigtimedwait(set, NULL, NULL)) < 0 && errno == EINTR)
        ;
    int failed = r < 0 ? errno : 0;
    errno = saved;
    if (!failed)
        *number = r;
    return failed;
}

/* Sleeping: the kernel says what is left. */
CAPTURE_API int nanosleep(const struct timespec *time, struct timespec *left)
{
    static void *next;
    typedef int (*fn)(const struct timespec *, struct timespec *);
    fn real = (fn)raw_next(&next, "nanosleep");
    uint32_t before = thread_interrupts();
    struct timespec rest = {0}, want;
    int r;
    phase_pause();
    while ((r = real(time, &rest)) < 0 && restart_is_due(errno, &before)) {
        want = rest;
        time = &want;
    }
    phase_resume();
    if (r < 0 && errno == EINTR && left)
        *left = rest;
    return r;
}

CAPTURE_API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                                struct timespec *left)
{
    static void *next;
    typedef int (*fn)(clockid_t, int, const struct timespec *, struct timespec *);
    fn real = (fn)raw_next(&next, "clock_nanosleep");
    uint32_t before = thread_interrupts();
    struct timespec rest = {0}, want;
    int r, absolute = flags & TIMER_ABSTIME;
    phase_pause();
    while ((r = real(clock, flags, time, &rest)) && restart_is_due(r, &before)) {
        want = rest;
        time = absolute ? time : &want;
    }
    phase_resume();
    if (r == EINTR && left && !absolute)
        *left = rest;
    return r;
}

CAPTURE_API int usleep(useconds_t us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000l};
    return nanosleep(&t, NULL);
}

CAPTURE_API unsigned sleep(unsigned seconds)
{
    struct timespec t = {seconds, 0};
    int saved = errno;
    if (nanosleep(&t, &t) < 0)
        return (unsigned)t.tv_sec;
    errno = saved;
    return 0;
}
