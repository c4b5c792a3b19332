/* NVTX ranges: how often, how long, and the CPU and device time inside of them. */
#ifndef TP_ANALYZE_ATTRIBUTE_RANGES_H
#define TP_ANALYZE_ATTRIBUTE_RANGES_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_ranges;
enum range_spent { RANGE_CPU, RANGE_WAIT, RANGE_READY }; /* READY: for a CPU */
/* Takes a CPU sample, or a wait that ended at `time`. */
enum err range_spent(struct image *im, enum range_spent spent, uint64_t time, double weight,
                     uint32_t context);
/* The innermost open range instance of a thread + 1, 0 none. */
uint32_t range_now(const struct image *im, const struct thread *t);
/* A device operation that was launched inside of the instance, by a call that began at `call`. */
void range_operation(struct image *im, uint32_t instance, uint64_t call, uint64_t start,
                     uint64_t end);
/* After the image's ranges became the run's: each instance that ended, with its row in ranges. */
typedef enum err range_visit(void *context, uint32_t row, uint64_t start, uint64_t end);
enum err ranges_each(const struct image *im, range_visit *visit, void *context);
const char *range_style(uint32_t style); /* push_pop, start_stop, mark */

#endif
