/* Ranks of an MPI program: which line waits in MPI, and for which rank. A collective call is over
 * when the last rank has come; a receive, when its send has. Formulas: Scalasca's wait states. */
#ifndef TP_ANALYZE_RANKS_RANKS_H
#define TP_ANALYZE_RANKS_RANKS_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_ranks;
/* Makes rows of the model after all images. */
enum err ranks_build(struct run *r);
void ranks_free(struct run *r);

#endif
