/* From a call on the host to the device operation that it started: a bounded choice of them. */
#ifndef TP_ANALYZE_COMMON_FLOW_H
#define TP_ANALYZE_COMMON_FLOW_H

#include "base/array.h"

#define FLOWS_MAX 4096

struct flow {
    const char *kind; /* of the device's track: kernel, copy, set */
    int32_t thread, device;
    int64_t cuda_context, stream;
    uint64_t called, began; /* start of the call, start of the operation; ns */
};
struct flows { /* all zero = empty */
    VECTOR(struct flow) list;
    uint64_t seen, every; /* of so many, one is kept; 0 counts as 1 */
};
/* If there are too many, every second one stays, then every fourth, and so on. */
enum err flows_add(struct flows *f, const struct flow *one);

#endif
