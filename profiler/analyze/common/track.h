/* Events on a line of the timeline, limited to a number of entries: where there are too many,
 * neighbours closer than the resolution become one entry, and the resolution doubles as needed. */
#ifndef TP_ANALYZE_COMMON_TRACK_H
#define TP_ANALYZE_COMMON_TRACK_H

#include <stdint.h>

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

#endif
