/* Keeps each line's live bytes over the time of the run: the most of each bin. Bins are a power of
 * two of ns long and the same for all lines; they become longer as the run does, so that CURVE_BINS
 * of them always reach to its end. */
#ifndef TP_ANALYZE_HEAP_CURVES_H
#define TP_ANALYZE_HEAP_CURVES_H

#include "profiler/analyze/state/run.h"

enum err curves_reach(struct run *r,
                      uint64_t end); /* before the replay of an image that ends then */
/* The line held `bytes` from `from` to `to`. */
void curve_raise(struct run *r, struct site *s, uint64_t from, uint64_t to, double bytes);
enum err curve_row(struct run *r, const struct site *s, struct model_line *row);
double curves_bin(const struct run *r); /* ns; NaN without any */

#endif
