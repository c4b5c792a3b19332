/* The events of Chrome's trace format, as PyTorch's profiler, JAX and tomoprof write it. */
#ifndef TP_IMPORT_SOURCE_TRACE_EVENTS_H
#define TP_IMPORT_SOURCE_TRACE_EVENTS_H

#include "profiler/import/source/slices.h"
#include "profiler/import/read/input.h"
#include "profiler/import/read/json_pull.h"

struct trace_event {
    char phase;
    const char *name, *category;
    int64_t pid, tid, ts, duration;                                   /* ns; duration -1: none */
    int64_t id;                                                       /* of b and e */
    int64_t correlation, device, stream, context, bytes, device_type; /* -1: not there */
    int64_t total_allocated, total_reserved, registers, shared;
    int64_t grid[3], block[3];
    const char *label; /* args.name of metadata */
    int64_t stack;     /* id of its innermost frame, -1: not there */
    int64_t busy;      /* CPU time of its thread meanwhile, ns, -1: not there */
};
struct trace_frame { /* of the stacks of events */
    int64_t parent;  /* id, -1: the outermost */
    const char *name, *module;
};
struct trace_events {
    struct builder *b;
    VECTOR(struct trace_event) list;
    VECTOR(const char *) pid_texts; /* pids that are not numbers, see trace_events_read */
    VECTOR(struct trace_frame) frames;
    struct table frame_by_id;
    const char *schema; /* schemaVersion of Kineto; NULL */
    const char *format; /* of the events; NULL: Chrome's JSON */
    int64_t damaged;    /* events without what they need */
    int64_t repaired;   /* 1: the file ends early */
};

/* Makes an event of which nothing but the time is known. */
struct trace_event trace_event_at(int64_t ts);
enum err trace_events_frame(struct trace_events *t, int64_t id, const struct trace_frame *f);
void trace_events_free(struct trace_events *t);
enum err trace_events_add(struct trace_events *t, const struct trace_event *e);
/* Events in the order of the file. A pid that is a text gets a number below -1000. */
enum err trace_events_read(struct trace_events *t, const struct import_input *in);
/* Fills the builder from them; the lists stay the caller's. */
enum err trace_events_import(struct trace_events *t);

#endif
