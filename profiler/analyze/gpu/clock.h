/* CUPTI's clock to CLOCK_MONOTONIC, by readings of both. */
#ifndef TP_ANALYZE_GPU_CLOCK_H
#define TP_ANALYZE_GPU_CLOCK_H

#include "profiler/analyze/gpu/gpu.h"

/* Reads the file's CLOCK records ahead before the first device time: times need those that come
 * after them too. */
enum err clock_need(struct image *im, struct gpu *g);
uint64_t clock_of(const struct gpu *g, uint64_t gpu_ns);
int clock_unknown(const struct gpu *g); /* times were read, and nothing relates them */
void clock_free(struct gpu *g);

#endif
