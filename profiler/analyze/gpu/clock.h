/* CUPTI's clock to CLOCK_MONOTONIC, by readings of both. */
#ifndef TP_ANALYZE_GPU_CLOCK_H
#define TP_ANALYZE_GPU_CLOCK_H

#include "profiler/analyze/state/image.h"

/* Reads the file's CLOCK records ahead: device times need those that come after them too. */
enum err clock_read(struct image *im, const char *path);
uint64_t clock_of(const struct image *im, uint64_t gpu_ns);
int clock_unknown(const struct image *im); /* times were read, and nothing relates them */
void clock_free(struct image *im);

#endif
