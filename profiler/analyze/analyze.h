/* From the trace files of a run to its model: merges processes, names addresses, attributes every
 * sample, allocation, copy and device operation to a source line, checks that nothing was lost or
 * counted twice. Bounded memory: files are read as streams. Any damage of the trace becomes an item
 * of model.quality; what cannot be known is null. */
#ifndef TP_ANALYZE_ANALYZE_H
#define TP_ANALYZE_ANALYZE_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

struct analyze_options {
    /* Shell patterns (fnmatch) on paths of source files, as recorded or relativised; lists end with
     * NULL, NULL = none. What matches `exclude`, or not `include` when given, is attributed to its
     * caller. */
    const char *const *include, *const *exclude;
    int libraries;              /* 1: lines of libraries have costs too, not only of user code */
    int absolute_paths;         /* 1: paths stay as recorded */
    int no_source;              /* 1: no source text in the profile */
    const char *tool_version;   /* for meta; NULL unknown */
    const char *const *command; /* for meta, ends with NULL; NULL: from the trace */
    void (*progress)(void *context, double done, double total); /* bytes of trace; NULL none */
    void *context;
};

/* `run_folder` holds trace/ (or is it). ERR_INPUT without any readable trace file; else a model,
 * and its quality says what is missing. */
enum err analyze_run(const char *run_folder, const struct analyze_options *options,
                     struct model **out);

#endif
