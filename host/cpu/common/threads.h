/* How many threads this process may keep busy. */
#ifndef TP_CPU_COMMON_THREADS_H
#define TP_CPU_COMMON_THREADS_H

#include "host/backend/backend.h"

/* CPUs of the affinity mask, at most the whole CPUs of the cgroup quota (a thread more would be
 * throttled in the middle of a measurement); at least 1. */
int cpu_threads_usable(void);

/* How many work outside of back ends, where a parallel region names no number; 0: all usable. */
void cpu_threads_default(int threads);

/* OpenMP's settings of the calling thread: so many threads, all of them, until they are put back. */
struct cpu_threads_saved {
    int threads, dynamic;
};
struct cpu_threads_saved cpu_threads_take(int threads);
void cpu_threads_restore(struct cpu_threads_saved before);

/* CPUs that the cgroup allows (quota / period, the smallest up the tree), or 0 where nothing
 * limits. `list` is /proc/self/cgroup and `root` /sys/fs/cgroup, or what a test puts in their
 * place. Versions 1 and 2. */
double cgroup_cpus(const char *list, const char *root);

/* How many threads a loop of the CPU back end takes. */

/* Threads for `elements` of work that streams through memory: waking the others and waiting for
 * them costs up to 100 us in a virtual machine, which 256 Ki elements outweigh (VCD at 64^3, half
 * as many: two threads took twice as long as one). One or all, because libgomp ends the threads
 * that a smaller team leaves over. */
extern int64_t cpu_team_least; /* tests want teams for less */
static inline int cpu_team(const struct backend *be, int64_t elements)
{
    return elements < cpu_team_least ? 1 : be->threads;
}

/* Threads for a projection: an update (voxel x view) is about 1/8 of such an element in time. */
static inline int cpu_projection_team(const struct backend *be, const struct scan *s,
                                      const struct volume *v, int64_t pixels)
{
    return cpu_team(be, pixels * v->slices * s->views / 8);
}

#endif
