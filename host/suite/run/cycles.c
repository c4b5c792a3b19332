/* Counts core cycles by perf_event_open. */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/suite/run/cycles.h"

void cycles_open(struct cycles *c)
{
    struct perf_event_attr what = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof what,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    *c = (struct cycles){.fd = -1};
    c->fd = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (c->fd < 0)
        snprintf(c->reason, sizeof c->reason, "no cycle counter: %s",
                 errno == ENOENT ? "this machine offers none" : strerror(errno));
}

double cycles_now(const struct cycles *c)
{
    struct {
        uint64_t cycles, enabled, running;
    } count;
    if (c->fd < 0 || read(c->fd, &count, sizeof count) != sizeof count)
        return (double)NAN;
    /* Where several share the counter it runs part of the time, and the rest would be a guess. */
    return count.running == count.enabled ? (double)count.cycles : (double)NAN;
}

void cycles_close(struct cycles *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}
