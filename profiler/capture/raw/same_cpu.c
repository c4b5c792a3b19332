/* Holds the calling thread on its CPU for the moment in which it makes another, which inherits that.
 * A mask that somebody else sets meanwhile stays. */
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/raw/same_cpu.h"

enum { CPUS = 1024, WORD = sizeof(unsigned long) * CHAR_BIT };

struct cpu_mask {
    unsigned long word[CPUS / WORD];
};
static struct cpu_mask before, held;
static int is_held; /* `before` is where the maker could run */

static int cpu_mask_read(struct cpu_mask *m)
{
    memset(m, 0, sizeof *m);
    return syscall(SYS_sched_getaffinity, 0, sizeof *m, m) > 0;
}

static int cpu_mask_set(const struct cpu_mask *m)
{
    return !syscall(SYS_sched_setaffinity, 0, sizeof *m, m);
}

static int cpu_mask_equal(const struct cpu_mask *a, const struct cpu_mask *b)
{
    return !memcmp(a, b, sizeof *a);
}

int same_cpu_begin(void)
{
    unsigned cpu;
    is_held = 0;
    if (!cpu_mask_read(&before) || syscall(SYS_getcpu, &cpu, NULL, NULL) || cpu >= CPUS)
        return 0;
    memset(&held, 0, sizeof held);
    held.word[cpu / WORD] = 1ul << cpu % WORD;
    if (!(before.word[cpu / WORD] & held.word[cpu / WORD]) || cpu_mask_equal(&before, &held))
        return 0;
    return is_held = cpu_mask_set(&held);
}

/* A process that nobody bound is bound to all CPUs there are, which it keeps as some are added to
 * its group; one that was bound, to those that it had. */
void same_cpu_end(void)
{
    struct cpu_mask now, all;
    if (!is_held || !cpu_mask_read(&now) || !cpu_mask_equal(&now, &held))
        return;
    memset(&all, 0xff, sizeof all);
    if (!cpu_mask_set(&all) || !cpu_mask_read(&now) || !cpu_mask_equal(&now, &before))
        cpu_mask_set(&before);
}

void same_cpu_leave(void)
{
    if (is_held)
        cpu_mask_set(&before);
}
