/* How many threads a loop of the CPU back end takes. */
#ifndef TP_CPU_COMMON_TEAM_H
#define TP_CPU_COMMON_TEAM_H

#include "host/backend/backend.h"

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
