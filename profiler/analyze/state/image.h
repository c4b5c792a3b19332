/* One trace file (one process image) while it is read: its threads, stacks and sample contexts, and
 * the collectors that take its records. */
#ifndef TP_ANALYZE_STATE_IMAGE_H
#define TP_ANALYZE_STATE_IMAGE_H

#include "profiler/analyze/common/owner.h"
#include "profiler/analyze/state/run.h"
#include "profiler/analyze/symbols/jit.h"

struct thread {
    uint32_t tid;
    const char *name;
    int main, row; /* row: in run.threads */
    int recorder;  /* a thread of the capture library itself */
    double user, sys, wait, kernel_ns;
    int ended;
    uint32_t cpu_track, wait_track, range_track; /* + 1; 0 none yet */
    VECTOR(struct open_range) open;              /* ranges.c */
    uint32_t more[64];                           /* correlation ids of API records that follow */
    int more_count;
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
};
struct overhead {
    uint64_t part, ns, calls; /* last values */
};
struct code_object {
    const char *file, *name;
    int first_line;
};

struct image {
    struct run *run;
    struct account account;
    struct trace_header header;
    int index; /* of the process in the run; also its number for symbols */
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
    struct table owner_of;                   /* cache of frames.c */
    const char *jitdump;                     /* path, NULL none */
    VECTOR(struct jit_mark) jit_marks;       /* of the perf map */
    VECTOR(struct trace_jit_code) jit_codes; /* as they came */
    int monotonic;                           /* device times are CLOCK_MONOTONIC already */
    int accepts;                             /* connections of others: it is a server */
    int python_minor;                        /* 3.minor, 0 unknown */
    VECTOR(struct overhead) overhead;        /* the recorder's own, per thread and part */
    struct table overhead_by_key;

    struct cpu *cpu;
    struct heap *heap;
    struct locks *locks;
    struct image_ranks *ranks;
    struct gpu *gpu;
    struct ranges *ranges;
    struct io *io;
    struct clock_map *clock;
};

/* definitions.c: texts, codes, stacks, threads. References may come before definitions. */
const char *image_string(const struct image *im, uint64_t id); /* NULL unknown */
enum err image_stack(struct image *im, uint64_t id, uint32_t *index);
enum err image_thread(struct image *im, uint32_t tid, struct thread **out);
enum err image_define(struct image *im, const struct trace_item *item);
enum err image_context(struct image *im, uint32_t tid, uint64_t stack, uint32_t borrow,
                       uint32_t *context);
enum err image_context_at(struct image *im, uint32_t thread, uint32_t stack, uint32_t borrow,
                          uint32_t *context);
void image_free_definitions(struct image *im);
/* Time relative to the run's origin; 0 and counted when it cannot be. */
uint64_t image_time(struct image *im, uint64_t ns);
uint64_t image_end(const struct image *im); /* its last moment, on CLOCK_MONOTONIC */
/* 1: it is of a part of the run that was not asked for. */
int image_left_out(const struct image *im, uint64_t ns);

/* What takes the records of some kinds: made with the image, fed while the file streams by,
 * settled, asked for what belongs to lines, freed. */
struct collector {
    enum err (*create)(struct image *im);
    enum err (*settle)(struct image *im);    /* end of file: contexts are complete after it */
    enum err (*attribute)(struct image *im); /* contexts have their lines: what needs these */
    void (*free)(struct image *im);
};

#endif
