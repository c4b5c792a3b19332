/* Access traces: the loops of plain references, which send each address to a sink; access_measure()
 * counts them. */
#ifndef TP_TRIAGE_ACCESS_ACCESS_LOOPS_H
#define TP_TRIAGE_ACCESS_ACCESS_LOOPS_H

#include "profiler/triage/access/access_trace.h"

/* Arrays of a trace; those from ACCESS_LOCAL on are buffers that an FPGA keeps on chip by design,
 * so they count for the window but not for the pattern. */
enum { ARRAY_IN, ARRAY_OUT, ARRAY_AUX, ARRAY_AUX2, ACCESS_LOCAL, ACCESS_ARRAYS = 6 };

struct access_sink {
    void (*access)(struct access_sink *s, int array, int64_t index, int write);
    void (*step)(struct access_sink *s); /* of the outer loop */
};

void access_trace_run(enum access_trace trace, int size, struct access_sink *sink);

#endif
