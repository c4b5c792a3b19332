/* A model from what another tool recorded. A source adds processes, threads, stacks with their
 * costs, ranges, calls and device operations in any order; builder_finish makes the rows of files,
 * lines, functions, totals and the timeline from them, and checks that every sum is kept. What a
 * source never adds stays null. Times are ns of the source's clock. */
#ifndef TP_IMPORT_BUILD_BUILDER_H
#define TP_IMPORT_BUILD_BUILDER_H

#include "base/table.h"
#include "profiler/analyze/common/dist.h"
#include "profiler/analyze/common/flow.h"
#include "profiler/analyze/common/track.h"
#include "base/array.h"
#include "profiler/analyze/model/model.h"
#include "profiler/import/build/operation.h"

enum import_cost { IMPORT_CPU, IMPORT_SYS, IMPORT_WAIT, IMPORT_GPU, IMPORT_ALLOC, IMPORT_COSTS };

struct import_node {
    int32_t parent, frame, thread;
    int64_t cost[IMPORT_COSTS], samples;
};
/* Calls, ranges, kernels, copies and memsets of one name: a row, and its durations. */
struct import_row {
    struct dist times;
    int64_t bytes, open, errors;
    double api_ns, queue_ns;
};
struct import_span { /* of a device */
    int64_t start, end;
    int32_t device;
};
struct import_track {
    struct model_track row; /* its fields but for events */
    struct track track;
};
struct import_line { /* of a file: what attribution adds up */
    const char *file, *function;
    int64_t line; /* 0: the row of a function */
    double self[IMPORT_COSTS], incl[IMPORT_COSTS];
    double native;
    int64_t samples;
    uint32_t mark; /* the node that was added last */
    int32_t order;
};
struct import_module {
    const char *name;
    double self[IMPORT_COSTS];
    int64_t samples;
};

struct builder {
    struct model *m;
    const char *base;            /* name of the file, for texts */
    int64_t origin, end;         /* first and last moment; origin is set before timed rows */
    int64_t added[IMPORT_COSTS]; /* sums of what was given, against which the result is checked */
    int known[IMPORT_COSTS];     /* the source measures it at all */
    int has_gpu, has_api, kernels_only; /* kernels_only: the source sees no copies */
    VECTOR(struct model_process) processes;
    VECTOR(struct model_thread) threads;
    VECTOR(struct model_frame) frames;
    VECTOR(struct import_node) nodes;
    VECTOR(struct model_kernel) kernels;
    VECTOR(struct model_transfer) transfers;
    VECTOR(struct model_set) sets;
    VECTOR(struct model_api) apis;
    VECTOR(struct model_range) ranges;
    VECTOR(struct import_row) kernel_rows, transfer_rows, set_rows, api_rows, range_rows;
    VECTOR(struct import_span) spans;
    VECTOR(struct model_device) devices;
    VECTOR(struct import_track) tracks;
    struct flows flows;
    VECTOR(struct import_line) lines;
    VECTOR(struct import_module) modules;
    VECTOR(struct model_item) items;
    VECTOR(struct model_check) checks;
    VECTOR(struct model_fact) facts;
    struct table index; /* of all of them: kind and key */
};

enum err builder_create(struct builder *b, const char *path);
void builder_free(struct builder *b); /* the model too, unless it was given away */

/* Texts of the source, as UTF-8; paths without what would name a home folder. */
const char *builder_text(struct builder *b, const char *s, size_t n);
const char *builder_path(struct builder *b, const char *s, size_t n);

enum err builder_process(struct builder *b, int64_t pid, const char *program, int32_t *out);
enum err builder_thread(struct builder *b, int32_t process, int64_t tid, const char *name,
                        int32_t *out);
/* The node at the root of a thread's stacks. */
enum err builder_root(struct builder *b, int32_t thread, int32_t *out);
enum err builder_frame(struct builder *b, const struct model_frame *f, int32_t *out);
enum err builder_node(struct builder *b, int32_t parent, int32_t frame, int32_t *out);
enum err builder_call(struct builder *b, int32_t parent, const struct model_frame *f, int32_t *out);
enum err builder_cost(struct builder *b, int32_t node, enum import_cost kind, int64_t amount,
                      int64_t samples);

enum err builder_event(struct builder *b, const struct model_track *at, int64_t start, int64_t end,
                       int32_t what);
enum err builder_range(struct builder *b, int32_t thread, const struct model_range *r,
                       int64_t start, int64_t end); /* end < start: never ended */
enum err builder_api(struct builder *b, int32_t thread, const char *name, int64_t start,
                     int64_t end, int failed, int32_t *row);
enum err builder_operation(struct builder *b, const struct import_operation *o);
enum err builder_device(struct builder *b, int32_t device, struct model_device **out);
/* An item of the data quality; none where `count` is 0. */
enum err builder_note(struct builder *b, int64_t count, const char *id, const char *severity,
                      const char *text, const char *effect);
enum err builder_check(struct builder *b, const char *id, double expected, double found,
                       double slack, const char *text);
enum err builder_fact(struct builder *b, const char *key, const char *value);
enum err builder_finish(struct builder *b, struct model **out);

#endif
