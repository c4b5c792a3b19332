/* The reference walks behind access_measure(). */
#ifndef TP_TRIAGE_ACCESS_ACCESS_LOOPS_H
#define TP_TRIAGE_ACCESS_ACCESS_LOOPS_H

#include "profiler/triage/access/access_trace.h"

/* Arrays of a walk; those from WALK_LOCAL on are buffers that an FPGA keeps on chip by design, so
 * they count for the window but not for the pattern. */
enum { ARRAY_IN, ARRAY_OUT, ARRAY_AUX, ARRAY_AUX2, WALK_LOCAL, WALK_ARRAYS = 6 };

struct sink {
    void (*access)(struct sink *s, int array, int64_t index, int write);
    void (*step)(struct sink *s); /* of the outer loop */
};

void walk_run(enum walk walk, int size, struct sink *sink);

#endif
