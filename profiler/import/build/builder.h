/* A source's facts about one operation of a device. */
#ifndef TP_IMPORT_BUILD_BUILDER_H
#define TP_IMPORT_BUILD_BUILDER_H

#include <stdint.h>

#include "profiler/analyze/state/image.h"

/* Counts of one launch; NaN unknown. */
struct import_counters {
    double dram_read, dram_write, compute, memory, achieved; /* bytes, and shares 0..1 */
    double occupancy, waves;                                 /* of its configuration */
};
/* A kernel, copy or memset of a device. `node`: the host's stack that launched it, -1 unknown. */
struct import_operation {
    const char *kind, *name, *mangled; /* kernel, copy, set; direction of a copy */
    const char *from, *to;             /* kinds of memory */
    int32_t device, node;
    int64_t context, stream, start, end, bytes;
    int64_t api_start, api_end; /* of the launching call; 0 unknown */
    int64_t grid[3], block[3], registers, static_shared, dynamic_shared; /* -1 unknown */
    int no_moment; /* 1: its length is known, not when it was: it is not in the timeline */
    const struct import_counters *counters; /* NULL: not counted */
};

/* A named stretch of time of a thread: a range, or a call into CUDA. */
struct import_range {
    const char *name, *domain, *style;
    int is_call, failed;
};

/* Fills a run (state/run.h) from what another tool recorded, in place of trace files: a source adds
 * processes, threads, stacks with their costs, ranges, calls and device operations in any order.
 * The costs are attributed and the model is made as they are from a recording. What a source never
 * adds stays null. Times are ns of the source's clock. */

enum import_cost { IMPORT_CPU, IMPORT_SYS, IMPORT_WAIT, IMPORT_GPU, IMPORT_ALLOC, IMPORT_COSTS };

struct import_node { /* costs of a node of run.nodes by itself, all threads alike */
    int32_t thread;  /* -1 none */
    int32_t kernel;  /* in run.kernels, -1: another leaf */
    int64_t cost[IMPORT_COSTS], samples, launches;
    double cpu_square;
    uint32_t own; /* in run.own, once attributed */
};

struct builder {
    struct run *run;
    struct image *image;         /* of no process: for the rules that ask for one */
    const char *base;            /* name of the file, for texts */
    int64_t origin, end;         /* first and last moment; origin is set before timed rows */
    int64_t added[IMPORT_COSTS]; /* sums of what was given */
    int64_t samples;
    int known[IMPORT_COSTS];            /* the source measures it at all */
    int has_gpu, has_api, kernels_only; /* kernels_only: the source sees no copies */
    VECTOR(struct model_frame) frames;  /* by frame of run.frames: paths as the source has them */
    VECTOR(struct import_node) nodes;   /* by node of run.nodes */
    VECTOR(struct model_check) checks;
    struct table index, tracks; /* of rows, by kind and key; of run.timeline */
};

/* Makes the model of a file that `fill` reads. */
enum err builder_model(const char *path, enum err (*fill)(struct builder *b, const void *context),
                       const void *context, struct model **out);

enum err builder_process(struct builder *b, int64_t pid, const char *program, int32_t *out);
enum err builder_thread(struct builder *b, int32_t process, int64_t tid, const char *name,
                        int32_t *out);
/* Returns the node of a function called by `parent`: a node, the root of a thread, or -1 for none.
 * f NULL: the parent itself. */
#define IMPORT_ROOT(thread) (-2 - (thread))
enum err builder_call(struct builder *b, int32_t parent, const struct model_frame *f, int32_t *out);
enum err builder_cost(struct builder *b, int32_t node, enum import_cost kind, int64_t amount,
                      int64_t samples);

/* Puts a node into the timeline of its thread, on a CPU or waiting. */
enum err builder_event(struct builder *b, int32_t node, enum import_cost kind, int64_t start,
                       int64_t end);
enum err builder_range(struct builder *b, int32_t thread, const struct import_range *r,
                       int64_t start, int64_t end); /* a range with end < start never ended */
enum err builder_operation(struct builder *b, const struct import_operation *o);

#endif
