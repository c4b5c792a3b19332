/* The clocks of a run's images: those of several machines are brought to that of the first rank. */
#ifndef TP_ANALYZE_RANKS_CLOCKS_H
#define TP_ANALYZE_RANKS_CLOCKS_H

#include "profiler/analyze/state/run.h"
#include "profiler/trace/format.h"

/* Each image's header, before any is read; then the shifts, and r->origin. */
enum err clocks_add(struct run *r, const struct trace_header *h);
void clocks_finish(struct run *r);
/* Returns how far this image's times are ahead of the run's. */
int64_t clocks_shift(const struct run *r, const struct trace_header *h);
/* How the times of ranks were compared, for mpi.clock. */
const char *clocks_text(struct run *r);
void clocks_free(struct run *r);

#endif
