/* How many threads this process may keep busy. */
#ifndef TP_CPU_COMMON_THREADS_H
#define TP_CPU_COMMON_THREADS_H

/* CPUs of the affinity mask, at most the whole CPUs of the cgroup quota (a thread more would be
 * throttled in the middle of a measurement); at least 1. */
int cpu_threads_usable(void);

/* How many work outside of back ends, where a parallel region names no number; 0: all usable. */
void cpu_threads_default(int threads);

/* CPUs that the cgroup allows (quota / period, the smallest up the tree), or 0 where nothing
 * limits. `list` is /proc/self/cgroup and `root` /sys/fs/cgroup, or what a test puts in their
 * place. Versions 1 and 2. */
double cgroup_cpus(const char *list, const char *root);

#endif
