/* Captures of other tools: one struct and one file each. */
#ifndef TP_IMPORT_SOURCE_SOURCE_H
#define TP_IMPORT_SOURCE_SOURCE_H

#include "profiler/import/build/builder.h"
#include "profiler/import/read/input.h"

struct import_options {
    double rate_hz; /* of samples that have no time; 0 unknown */
};

struct import_source {
    const char *name, *summary;
    /* Returns 1 where the bytes look like it; they are not damaged for that. */
    int (*is_it)(const struct import_input *in);
    enum err (*read)(struct builder *b, const struct import_input *in,
                     const struct import_options *o);
};

extern const struct import_source import_nsys, import_trace_events, import_xplane, import_perf,
    import_speedscope, import_folded, import_pprof, import_ncu, import_callgrind, import_firefox,
    import_perfetto;

/* Names the source first in the report: which tool, and which version of it (NULL unknown). */
enum err source_is(struct builder *b, const char *tool, const char *version);

#endif
