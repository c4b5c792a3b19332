/* Counts the CPUs that this process may use: affinity mask and cgroup quota. */
#include <limits.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cpu/common/threads.h"

#define LINE 1024

static int first_line(const char *path, char line[LINE])
{
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    int read = fgets(line, LINE, f) != NULL;
    fclose(f);
    return read;
}

/* Version 2: cpu.max holds "quota period" or "max period". */
static double quota_v2(const char *folder)
{
    char path[LINE + 32], line[LINE];
    double quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (first_line(path, line) && sscanf(line, "%lf %lf", &quota, &period) == 2 && quota > 0 &&
        period > 0)
        return quota / period;
    return 0;
}

/* Version 1: two files; a quota of -1 is none. */
static double quota_v1(const char *folder)
{
    char path[LINE + 32], line[LINE];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    double quota = first_line(path, line) ? atof(line) : 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    double period = first_line(path, line) ? atof(line) : 0;
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* Finds the smallest quota of `group` ("/a/b") and its parents under `base`. Inside a container the
 * list often names a path of the host that is not mounted: its parents, down to `base` itself,
 * still count. */
static double quota_smallest(const char *base, char *group, double (*quota)(const char *folder))
{
    double least = 0;
    for (;;) {
        char folder[LINE];
        if (snprintf(folder, sizeof folder, "%s%s", base, group) < (int)sizeof folder) {
            double cpus = quota(folder);
            if (cpus > 0 && (least == 0 || cpus < least))
                least = cpus;
        }
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

static int names_cpu(const char *controllers)
{
    char copy[LINE], *rest = copy;
    snprintf(copy, sizeof copy, "%s", controllers);
    for (char *name; (name = strsep(&rest, ","));)
        if (!strcmp(name, "cpu"))
            return 1;
    return 0;
}

double cgroup_cpus(const char *list, const char *root)
{
    FILE *f = fopen(list, "re");
    if (!f)
        return 0;
    double least = 0;
    char line[LINE];
    while (fgets(line, sizeof line, f)) { /* "7:cpu,cpuacct:/a/b" or "0::/a/b" */
        char *rest = line, base[LINE];
        strsep(&rest, ":");
        char *controllers = strsep(&rest, ":"), *group = strsep(&rest, "\n");
        if (!controllers || !group)
            continue;
        double cpus = 0;
        if (!*controllers)
            cpus = quota_smallest(root, group, quota_v2);
        else if (names_cpu(controllers) && /* mounted under the list's name, or linked as "cpu" */
                 snprintf(base, sizeof base, "%s/cpu", root) < (int)sizeof base)
            cpus = quota_smallest(base, group, quota_v1);
        if (cpus > 0 && (least == 0 || cpus < least))
            least = cpus;
    }
    fclose(f);
    return least;
}

int cpu_threads_usable(void)
{
    /* The mask of a machine with more than 1024 CPUs does not fit cpu_set_t: grow until it does. */
    int n = 0;
    for (int cpus = CPU_SETSIZE; n == 0 && cpus <= 1 << 20; cpus *= 4) {
        cpu_set_t *mask = CPU_ALLOC((size_t)cpus);
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (mask && !sched_getaffinity(0, bytes, mask))
            n = CPU_COUNT_S(bytes, mask);
        CPU_FREE(mask);
    }
    double quota = cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota > 0 && quota < n)
        n = (int)quota;
    return n > 1 ? n : 1;
}

void cpu_threads_default(int threads)
{
    omp_set_num_threads(threads ? threads : cpu_threads_usable());
}

struct cpu_threads_saved cpu_threads_take(int threads)
{
    const struct cpu_threads_saved before = {omp_get_max_threads(), omp_get_dynamic()};
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    return before;
}

void cpu_threads_restore(struct cpu_threads_saved before)
{
    omp_set_num_threads(before.threads);
    omp_set_dynamic(before.dynamic);
}

/* The least work that is worth waking the other threads for. */

int64_t cpu_team_least = 1 << 18;
