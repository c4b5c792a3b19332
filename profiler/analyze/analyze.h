/* From the trace files of a run to its model: merges processes, names addresses, attributes every
 * sample, allocation, copy and device operation to a source line, checks that nothing was lost or
 * counted twice. Bounded memory: files are read as streams. Any damage of the trace becomes an item
 * of model.quality; what cannot be known is null. */
#ifndef TP_ANALYZE_ANALYZE_H
#define TP_ANALYZE_ANALYZE_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* CPU time by the launcher's account; 0 unknown. */
struct analyze_launch {
    int pid, left_running;
    double own_user_s, own_system_s;          /* of that process alone */
    double all_s;                             /* of it and of all that were waited for */
    double fork_s, load_s, start_s, signal_s; /* of the recorder for each: record.h's prices */
};

/* Asks what the run would take if a line, with what it calls, took `factor` times as long. */
struct what_if {
    const char *file; /* of the line, or the end of its path */
    int64_t line;
    double factor;
    /* The answer: wall time before and after; what the line has of the critical path; what the replay
     * of the run as it was takes, which is about before_s. */
    double before_s, after_s, path_s, replayed_s;
};

struct analyze_options {
    /* Shell patterns (fnmatch) on paths of source files, as recorded or relativised; lists end with
     * NULL, NULL = none. What matches `exclude`, or not `include` when given, is attributed to its
     * caller. */
    const char *const *include, *const *exclude;
    /* Only this part of the run, seconds since its start; 0: to the end, from the start.
     * after_imports: from the end of the start-up's imports on, instead of from_s. */
    double from_s, until_s;
    int after_imports;
    int after_start;            /* 1: from the first region on, unless from_s says where */
    int libraries;              /* 1: lines of libraries have costs too, not only of user code */
    int absolute_paths;         /* 1: paths stay as recorded */
    int no_source;              /* 1: no source text in the profile */
    int just_ended;             /* 1: the run ended a moment ago: what its sources hold is noted */
    const char *tool_version;   /* for meta; NULL unknown */
    const char *const *command; /* for meta, ends with NULL; NULL: from the trace */
    struct analyze_launch launch;
    struct what_if *what_if; /* to be answered too; NULL: nothing is asked */
    int cpus;                /* that the program could use; 0 unknown */
    void (*progress)(void *context, double done, double total); /* bytes of trace; NULL none */
    void *context;
};

/* `run_folder` holds trace/ (or is it). ERR_INPUT without any readable trace file, without imports
 * where after_imports asks for them or with nothing behind them, and where the run ended before
 * from_s; else a model, and its quality says what is missing. */
enum err analyze_run(const char *run_folder, const struct analyze_options *options,
                     struct model **out);

#endif
