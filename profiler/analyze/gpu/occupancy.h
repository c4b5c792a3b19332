/* How many blocks of a kernel fit on a multiprocessor at once, by the device's limits. */
#ifndef TP_ANALYZE_GPU_OCCUPANCY_H
#define TP_ANALYZE_GPU_OCCUPANCY_H

#include "profiler/trace/records_gpu.h"

struct occupancy {
    double share; /* resident warps / warps that fit; NaN when the limits are not known */
    const char *limiter;
    int blocks; /* per multiprocessor */
};
struct occupancy occupancy_of(const struct trace_device *d, uint64_t threads, uint32_t registers,
                              uint64_t shared);

#endif
