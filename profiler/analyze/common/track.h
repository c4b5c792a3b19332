/* Events on a line of the timeline, limited to a number of entries: where there are too many,
 * neighbours closer than the resolution become one entry, and the resolution doubles as needed. */
#ifndef TP_ANALYZE_COMMON_TRACK_H
#define TP_ANALYZE_COMMON_TRACK_H

#include <stdint.h>

#include "base/array.h"
#include "base/err.h"

struct track_event {
    uint64_t start, end, busy, largest; /* ns; of the longest event in it */
    uint32_t count, what;               /* `what` of the longest */
};
struct track { /* all zero = empty */
    struct track_event *events;
    size_t count, room;
    uint64_t resolution;
};
void track_free(struct track *t);
/* Events are given by start, mostly; one that is not is added to the last entry. */
enum err track_add(struct track *t, uint64_t start, uint64_t end, uint32_t what, size_t limit);
/* A further part of the last event; 0: it is not one. */
int track_extend(struct track *t, uint64_t start, uint64_t end, uint32_t what);
void track_reduce(struct track *t, size_t limit);

/* From a call on the host to the device operation that it started: a bounded choice of them. */

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
