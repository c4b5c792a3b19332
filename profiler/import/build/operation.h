/* What a source says of one operation of a device. */
#ifndef TP_IMPORT_BUILD_OPERATION_H
#define TP_IMPORT_BUILD_OPERATION_H

#include <stdint.h>

/* What was counted in one launch; NaN unknown. */
struct import_counters {
    double dram_read, dram_write, compute, memory, achieved; /* bytes, and shares 0..1 */
    double occupancy, waves;                                 /* of its configuration */
};
/* A kernel, copy or memset of a device. `node`: the host's stack that launched it, -1 unknown. */
struct import_operation {
    const char *kind, *name, *mangled; /* kernel, copy, set; direction of a copy */
    const char *from, *to;             /* kinds of memory */
    int32_t device, node;
    int64_t context, stream, start, end, bytes;
    int64_t api_start, api_end; /* of the launching call; 0 unknown */
    int64_t grid[3], block[3], registers, static_shared, dynamic_shared; /* -1 unknown */
    int no_moment; /* 1: its length is known, not when it was: it is not in the timeline */
    const struct import_counters *counters; /* NULL: not counted */
};

#endif
