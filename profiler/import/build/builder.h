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

/* Fills a run (state/run.h) from what another tool recorded, in place of trace files: a source adds
 * processes, threads, stacks with their costs, ranges, calls and device operations in any order.
 * builder_finish attributes the costs and makes the model as it is made from a recording. What a
 * source never adds stays null. Times are ns of the source's clock. */

enum import_cost { IMPORT_CPU, IMPORT_SYS, IMPORT_WAIT, IMPORT_GPU, IMPORT_ALLOC, IMPORT_COSTS };

struct import_node {       /* costs of a node of run.nodes by itself, all threads alike */
    int32_t frame, thread; /* frame: in frames; thread: -1 none */
    int32_t kernel;        /* in run.kernels, -1: another leaf */
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
    VECTOR(struct model_frame) frames;  /* paths as the source has them */
    VECTOR(struct import_node) nodes;   /* by node of run.nodes */
    VECTOR(struct model_check) checks;
    struct table index, tracks; /* of rows, by kind and key; of run.timeline */
};

enum err builder_create(struct builder *b, const char *path);
void builder_free(struct builder *b); /* the model too, unless it was given away */

/* Texts of the source, as UTF-8; paths as path_shown takes them. */
const char *builder_text(struct builder *b, const char *s, size_t n);
const char *builder_path(struct builder *b, const char *s, size_t n);

enum err builder_process(struct builder *b, int64_t pid, const char *program, int32_t *out);
enum err builder_thread(struct builder *b, int32_t process, int64_t tid, const char *name,
                        int32_t *out);
/* Returns the node at the root of a thread's stacks. */
enum err builder_root(struct builder *b, int32_t thread, int32_t *out);
enum err builder_frame(struct builder *b, const struct model_frame *f, int32_t *out);
enum err builder_node(struct builder *b, int32_t parent, int32_t frame, int32_t *out);
enum err builder_call(struct builder *b, int32_t parent, const struct model_frame *f, int32_t *out);
enum err builder_cost(struct builder *b, int32_t node, enum import_cost kind, int64_t amount,
                      int64_t samples);

/* `what`: a node where at->kind is "cpu" or "wait", else a row. */
enum err builder_event(struct builder *b, const struct model_track *at, int64_t start, int64_t end,
                       int32_t what);
enum err builder_range(struct builder *b, int32_t thread, const struct model_range *r,
                       int64_t start, int64_t end); /* end < start: never ended */
enum err builder_api(struct builder *b, int32_t thread, const char *name, int64_t start,
                     int64_t end, int failed, int32_t *row);
enum err builder_operation(struct builder *b, const struct import_operation *o);
enum err builder_device(struct builder *b, int32_t device, struct run_device **out);
/* An item of the data quality; none where `count` is 0. */
enum err builder_note(struct builder *b, int64_t count, const char *id, const char *severity,
                      const char *text, const char *effect);
enum err builder_check(struct builder *b, const char *id, double expected, double found,
                       double slack, const char *text);
enum err builder_fact(struct builder *b, const char *key, const char *value);
enum err builder_finish(struct builder *b, struct model **out);

#endif
