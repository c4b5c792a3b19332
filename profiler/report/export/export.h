/* A model in the formats of other tools. One struct exporter per format, one file each; exporters[]
 * lists them. */
#ifndef TP_REPORT_EXPORT_EXPORT_H
#define TP_REPORT_EXPORT_EXPORT_H

#include <stdio.h>

#include "base/arena.h"
#include "profiler/analyze/model/model.h"

enum export_weight { EXPORT_CPU, EXPORT_GPU, EXPORT_WAIT, EXPORT_ALLOC, EXPORT_WEIGHTS };
struct export_unit {
    const char *name; /* pprof's word */
    const char *title;
    const char *unit; /* speedscope's word: nanoseconds, bytes */
};
/* CPU time of a capture that counts samples is their number, in "none". */
const struct export_unit *export_unit_of(const struct model *m, enum export_weight w);
/* Weight of a stack node itself, 0 when unknown. */
int64_t export_weight(const struct model_stack *s, enum export_weight w);
int64_t export_busy(const struct model_event *e); /* ns; unknown ones are 0 */

struct export_options {
    double from_s,
        to_s;     /* window of events since the start of the run; to_s 0 = end. Of timelines only */
    double min_s; /* events shorter than this are left out; of timelines only */
    enum export_weight weight; /* of formats with one weight */
};

struct exporter {
    const char *name, *suffix, *summary;
    void (*write)(const struct model *m, const struct export_options *o,
                  FILE *out); /* errors stay in the stream */
};
extern const struct exporter *const exporters[]; /* ends with NULL */
const struct exporter *exporter_find(const char *name);
int exporter_compresses(const struct exporter *x); /* 1: the format is gzipped by itself */

/* Writes into a stream. */
enum err export_write(const struct model *m, const struct exporter *x,
                      const struct export_options *o, FILE *out);
/* Writes `path`, whole or not at all; gzip 1: compressed. ERR_UNSUPPORTED-free: every model has an
 * export, maybe an empty one. */
enum err export_file(const struct model *m, const struct exporter *x,
                     const struct export_options *o, int gzip, const char *path);

/* Returns the name of a track, and of an event of it (`what` of model_event). */
/* Numbers of a process and a thread for formats that need one: those of their rows where their own
 * are unknown; 0: not a row. */
int64_t export_pid(const struct model *m, int process);
int64_t export_tid(const struct model *m, int thread);
void export_track_name(const struct model *m, const struct model_track *t, char name[256]);
const char *export_event_name(const struct model *m, const struct model_track *t, int32_t what);

/* Returns what a process runs: its script, or operation and size of the suite; else its program. */
const char *export_process_name(const struct model_process *p);

/* Whole nanoseconds; 0 where the time is unknown or negative, at most 2^62. */
uint64_t export_ns(double seconds);

/* "function file.c:12", by which timelines name frames with a line; else the readable name. */
void export_frame_label(const struct model_frame *f, char *out, size_t size);

/* Puts CPU time without a moment, as [start-up], before the events of its thread: each is an event
 * without a length at 0. `m` is a copy; what it gets lives in `a`. */
enum err export_place_accounts(struct model *m, struct arena *a);

/* Readable name of a frame: function, else module, else "[unknown]". */
const char *export_frame_name(const struct model_frame *f);

#endif
