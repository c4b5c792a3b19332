/* Processes that the program made and that left no trace. */
#ifndef TP_ANALYZE_BUILD_CHILDREN_H
#define TP_ANALYZE_BUILD_CHILDREN_H

#include "profiler/analyze/state/image.h"

enum err children_made(struct image *im, const struct trace_item *item); /* a PROCESS record */
/* At the end what to say of those without a trace; item.count 0 none. */
enum err children_without_trace(struct run *r, struct model_item *item);

#endif
