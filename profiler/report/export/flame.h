/* Flame graphs as SVG: one of a whole run, or one of each operation of the suite. */
#ifndef TP_REPORT_EXPORT_FLAME_H
#define TP_REPORT_EXPORT_FLAME_H

#include <stdio.h>

#include "base/timing/timing.h"
#include "profiler/analyze/model/model.h"

/* weights: by node of m->stacks, ns that end there. The root is on top. */
void flame_write(const struct model *m, const int64_t *weights, const char *title, FILE *out);

/* How many were written, and the names of those without a sample, which have none; "...": more. */
struct flame_count {
    int written;
    char without[2048];
};

/* OPERATION_SIZE.svg in `folder`, which is made: CPU time while the operation ran, of all threads
 * of its process. ERR_INPUT where the run is none of the suite. */
enum err flame_operations(const struct model *m, const struct timing_file *t, const char *folder,
                          struct flame_count *count);

#endif
