/* Waits for locks: which line waits, which one held the lock meanwhile, and how many threads ran at
 * a time. Rows of run.locks and run.contention. */
#ifndef TP_ANALYZE_LOCKS_LOCKS_H
#define TP_ANALYZE_LOCKS_LOCKS_H

#include "profiler/analyze/state/image.h"

extern const struct collector collector_locks;
enum err locks_wait(struct image *im, const struct trace_lock *r);
/* Who holds a lock is sampled where it runs and where it sleeps. */
enum err locks_sample(struct image *im, const struct trace_sample *s);
enum err locks_sleep(struct image *im, const struct trace_wait *w);

#endif
