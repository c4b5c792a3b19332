/* Host memory: allocations, releases, copies and the footprint of the process. */
#ifndef TP_ANALYZE_HEAP_HEAP_H
#define TP_ANALYZE_HEAP_HEAP_H

#include "profiler/analyze/state/image.h"

extern const struct collector collector_heap;
enum err heap_alloc(struct image *im, const struct trace_alloc *a);
enum err heap_free(struct image *im, const struct trace_free *f);
enum err heap_copy(struct image *im, const struct trace_copy *c);
enum err heap_footprint(struct image *im, const struct trace_footprint *f);

#endif
