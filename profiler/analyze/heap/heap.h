/* Host memory: allocations, releases, copies and the footprint of the process. */
#ifndef TP_ANALYZE_HEAP_HEAP_H
#define TP_ANALYZE_HEAP_HEAP_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_heap;

#endif
