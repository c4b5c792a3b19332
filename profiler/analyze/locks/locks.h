/* Waits for locks: which line waits, which one held the lock meanwhile, and how many threads ran at
 * a time. Rows of run.locks and run.contention. */
#ifndef TP_ANALYZE_LOCKS_LOCKS_H
#define TP_ANALYZE_LOCKS_LOCKS_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_locks;

#endif
