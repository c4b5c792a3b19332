/* A trace file (one process image) while it is read: its threads, stacks and sample contexts.
 * What only one collector needs is that collector's state. */
#ifndef TP_ANALYZE_STATE_IMAGE_H
#define TP_ANALYZE_STATE_IMAGE_H

#include "profiler/analyze/common/owner.h"
#include "profiler/analyze/state/run.h"

struct thread {
    uint32_t tid;
    const char *name;
    int main, row; /* row: in run.threads */
    int recorder;  /* a thread of the capture library itself */
    double user, sys, wait, kernel_ns;
    int ended;
    uint32_t cpu_track, wait_track; /* + 1; 0 none yet */
};
struct stack { /* definition, as soon as it came */
    uint64_t id, time;
    uint32_t at, flags; /* in image.words */
    uint16_t native, python;
    int known;
    int no_line; /* resolved, and a Python line could not be read */
};
struct sample_context {
    uint32_t thread, stack, borrow; /* borrow: stack + 1 of the main thread, 0 none */
    struct costs costs;
    int site, function; /* attributed to, once resolved; -1 */
    uint32_t node, own; /* in run.nodes, in run.own */
    int waits, idle;    /* enum waits_for of what it waited for longest; idle: for requests */
    double waits_ns;    /* by how much longer than for the rest, at least */
    int slept;          /* sleeps that were told */
    double ready_ns;    /* part of what it waited: ready for a CPU */
};
struct code_object {
    const char *file, *name;
    int first_line;
};

struct image {
    struct run *run;
    struct trace_header header;
    const char *path; /* of the trace file */
    int index;        /* of the process in the run; also its number for symbols */
    struct arena *arena;
    uint64_t last;

    struct table string_by_id, code_by_id, stack_by_id, thread_by_tid, context_by_key;
    VECTOR(const char *) strings;
    VECTOR(struct code_object) codes;
    VECTOR(struct stack) stacks;
    VECTOR(uint64_t) words;
    VECTOR(struct thread) threads;
    VECTOR(struct sample_context) contexts;
    struct owner_program program;
    struct table owner_of; /* cache of frames.c */
    struct table work_of;  /* cache of work.c */
    int accepts;           /* connections of others: it is a server */
    int python_minor;      /* 3.minor, 0 unknown */
    struct collectors *collectors;
};

/* definitions.c: texts, codes, stacks, threads. References may come before definitions. */
const char *image_string(const struct image *im, uint64_t id); /* NULL unknown */
enum err image_stack(struct image *im, uint64_t id, uint32_t *index);
enum err image_thread(struct image *im, uint32_t tid, struct thread **out);
enum err image_context(struct image *im, uint32_t tid, uint64_t stack, uint32_t borrow,
                       uint32_t *context);
enum err image_context_at(struct image *im, uint32_t thread, uint32_t stack, uint32_t borrow,
                          uint32_t *context);
/* Time relative to the run's origin; 0 and counted when it cannot be. */
uint64_t image_time(struct image *im, uint64_t ns);
uint64_t image_end(const struct image *im); /* its last moment, on CLOCK_MONOTONIC */
/* 1: it is of a part of the run that was not asked for. */
int image_left_out(const struct image *im, uint64_t ns);

#endif
