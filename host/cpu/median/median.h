/* 3x3x3 median: an entry of the back end's table (host/backend/backend.h), and its parts. */
#ifndef TP_CPU_MEDIAN_MEDIAN_H
#define TP_CPU_MEDIAN_MEDIAN_H

#include "host/backend/backend.h"
#include "host/cpu/median/median_kernel.h"

enum err cpu_median3(struct backend *be, int64_t rows, int64_t cols, int64_t slices,
                     const struct buffer *in, struct buffer *out);

/* All tiles, and which kernel the machine is best served by. */
void median_tiles(median_tile *tile, int threads, const struct median_volume *v);
median_tile *median_best(void);

#endif
