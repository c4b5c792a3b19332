/* Nested stretches of time on threads, as tracers write them, to stacks with the time of each. */
#ifndef TP_IMPORT_SOURCE_SLICES_H
#define TP_IMPORT_SOURCE_SLICES_H

#include "profiler/import/source/source.h"

struct import_slice {
    int64_t start, end;
    int32_t thread;
    struct model_frame frame;
    int64_t bytes; /* above 0: not a stretch but an allocation at `start` */
    int32_t node;  /* out: its stack */
    uint32_t order;
};
struct import_slices {
    VECTOR(struct import_slice) list;
    int64_t clipped; /* overlapped without nesting */
};

/* Adds self times as costs of `kind`, and what ran when to the timeline. The order of the list
 * changes. */
enum err source_slices(struct builder *b, struct import_slices *s, enum import_cost kind);

#endif
