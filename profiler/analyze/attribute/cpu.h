/* CPU samples and waits: per sample context, per thread, and on the timeline. */
#ifndef TP_ANALYZE_ATTRIBUTE_CPU_H
#define TP_ANALYZE_ATTRIBUTE_CPU_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_cpu;
/* The stack, plus 1, that the main thread was executing at `time`; 0 unknown. For `finish`. */
uint32_t cpu_main_stack(struct image *im, uint64_t time);

#endif
