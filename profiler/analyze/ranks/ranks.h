/* Ranks of an MPI program: which line waits in MPI, and for which rank. A collective call is over
 * when the last rank has come; a receive, when its send has. Formulas: Scalasca's wait states. */
#ifndef TP_ANALYZE_RANKS_RANKS_H
#define TP_ANALYZE_RANKS_RANKS_H

#include "profiler/analyze/state/collector.h"
#include "profiler/analyze/state/run.h"
#include "profiler/trace/format.h"

extern const struct collector collector_ranks;
/* Makes rows of the model after all images. */
enum err ranks_build(struct run *r);
void ranks_free(struct run *r);

/* The clocks of a run's images: those of several machines are brought to that of the first rank. */

/* Each image's header, before any is read; then the shifts, and r->origin. */
enum err clocks_add(struct run *r, const struct trace_header *h);
void clocks_finish(struct run *r);
/* Returns how far this image's times are ahead of the run's. */
int64_t clocks_shift(const struct run *r, const struct trace_header *h);
/* How the times of ranks were compared, for mpi.clock. */
const char *clocks_text(struct run *r);
void clocks_free(struct run *r);

#endif
