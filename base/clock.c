/* CLOCK_MONOTONIC, its self-test, and the UTC stamps of run folders. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int clock_waits_open(void)
{
    return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

/* "RUN WAITED SLICES"; 260 ns. */
int64_t clock_waits_ns(int fd)
{
    char text[96];
    long long ran, waited;
    const ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : 0;
}

struct clock_check clock_self_test(void)
{
    enum { READS = 100000 };
    struct clock_check c = {0, INT64_MAX, 0};
    int64_t start = clock_ns(), last = start;
    for (int i = 0; i < READS; i++) {
        int64_t now = clock_ns();
        if (now < last)
            c.went_back = 1;
        else if (now > last && now - last < c.smallest_step_ns)
            c.smallest_step_ns = now - last;
        last = now;
    }
    c.read_ns = (double)(last - start) / READS;
    return c;
}

void clock_stamp(char out[17])
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(out, 17, "%Y%m%dT%H%M%SZ", &utc);
}
