/* Counts, values and times of anything that has a name or a few small numbers: CUDA calls,
 * transfers, ranges, modules without lines. */
#ifndef TP_ANALYZE_COMMON_COUNTERS_H
#define TP_ANALYZE_COMMON_COUNTERS_H

#include "base/table.h"
#include "profiler/analyze/common/dist.h"

struct counter { /* anything that is counted by a name or a few small numbers */
    const char *name, *domain;
    uint32_t key[4];
    uint64_t errors, open, operations;
    double value, cpu, gpu_sum, gpu_projected;
    struct dist time;
};
struct counters {
    struct counter *items;
    size_t count, room;
    struct table by_key;
};
/* The counter of a key, made when new; NULL: out of memory. */
struct counter *counter_of(struct counters *t, const char *domain, const char *name, uint32_t a,
                           uint32_t b, uint32_t c, uint32_t d);
void counters_free(struct counters *t);

#endif
