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

/* Texts of a source, as UTF-8; paths as path_shown takes them. */
const char *import_text(struct builder *b, const char *s, size_t n);
const char *import_path(struct builder *b, const char *s, size_t n);

/* Names the source first in the report: which tool, and which version of it (NULL unknown). */
enum err source_is(struct builder *b, const char *tool, const char *version);

/* Adds an item of the data quality; none where `count` is 0. */
enum err import_note(struct builder *b, int64_t count, const char *id, const char *severity,
                     const char *text, const char *effect);
enum err import_check(struct builder *b, const char *id, double expected, double found,
                      double slack, const char *text);
/* Adds a row of the environment, the first of its key. */
enum err import_fact(struct builder *b, const char *key, const char *value);

#endif
