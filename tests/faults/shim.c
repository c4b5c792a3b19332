/* Preloaded: clocks as bad machines have them. CLOCKS=back (each reading is earlier), jump (hours
 * to and fro), frozen, fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int bent(long clock, struct timespec *t)
{
    static volatile long readings;
    const char *how = getenv("CLOCKS");
    long n = __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED);
    if (how && *how == 'f' && how[1] == 'a') {
        errno = EINVAL;
        return -1;
    }
    if (syscall(SYS_clock_gettime, clock, t))
        return -1;
    if (how && *how == 'f')
        *t = (struct timespec){1000, 0};
    else if (how && *how == 'b')
        t->tv_sec -= n;
    else if (how && *how == 'j')
        t->tv_sec += n % 3 ? n % 7 * 3600 : -3600;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    return bent(clock, t);
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    if (bent(CLOCK_REALTIME, &t))
        return -1;
    tv->tv_sec = t.tv_sec;
    tv->tv_usec = t.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t;
    if (bent(CLOCK_REALTIME, &t))
        return -1;
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
