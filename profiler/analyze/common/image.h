/* One trace file while it is read, and what its parts do with its records. */
#ifndef TP_ANALYZE_COMMON_IMAGE_H
#define TP_ANALYZE_COMMON_IMAGE_H

#include "profiler/analyze/common/run.h"

struct thread {
    uint32_t tid;
    const char *name;
    int main, ours, row; /* row: in run.threads */
    double user, sys, wait, kernel_ns, sampled;
    int ended;
    uint32_t cpu_lane, wait_lane, api_lane, range_lane; /* + 1; 0 none yet */
    struct open_range *open;
    size_t open_count, open_room;
    uint32_t more[64]; /* correlation ids of API records that follow */
    int more_count;
};
struct stack { /* definition, as soon as it came */
    uint64_t id, time;
    uint32_t at, flags; /* in image.words */
    uint16_t native, python;
    int known, resolved;
};
struct spot {
    uint32_t thread, stack, borrow; /* borrow: stack + 1 of the main thread, 0 none */
    struct sums sums;
    int site, function; /* charged to, once resolved; -1 */
    uint32_t node;      /* in run.nodes */
};
struct code {
    const char *file, *name;
    int first_line;
};

struct image {
    struct run *run;
    struct trace_header header;
    int index; /* of the process in the run; also its number for symbols */
    struct arena *arena;
    uint64_t last;

    struct table string_by_id, code_by_id, stack_by_id, thread_by_tid, spot_by_key;
    const char **strings;
    size_t strings_count, strings_room;
    struct code *codes;
    size_t codes_count, codes_room;
    struct stack *stacks;
    size_t stacks_count, stacks_room;
    uint64_t *words;
    size_t words_count, words_room;
    struct thread *threads;
    size_t threads_count, threads_room;
    struct spot *spots;
    size_t spots_count, spots_room;
    int monotonic;            /* device times are CLOCK_MONOTONIC already */
    int python, python_minor; /* an interpreter was seen; 3.minor, 0 unknown */
    struct {                  /* last value per thread and part */
        uint64_t *keys, *ns, *calls;
        size_t count, room[3];
        struct table by_key;
    } costs;

    struct cpu *cpu;
    struct heap *heap;
    struct gpu *gpu;
    struct ranges *ranges;
    struct clock_map *clock;
};

/* definitions.c: texts, codes, stacks, threads. References may come before definitions. */
const char *image_string(const struct image *im, uint64_t id); /* NULL unknown */
enum err image_stack(struct image *im, uint64_t id, uint32_t *index);
enum err image_thread(struct image *im, uint32_t tid, struct thread **out);
enum err image_define(struct image *im, const struct trace_item *item);
enum err image_spot(struct image *im, uint32_t tid, uint64_t stack, uint32_t borrow,
                    uint32_t *spot);
enum err image_spot_at(struct image *im, uint32_t thread, uint32_t stack, uint32_t borrow,
                       uint32_t *spot);
void image_free_definitions(struct image *im);
/* Time relative to the run's origin; 0 and counted when it cannot be. */
uint64_t image_time(struct image *im, uint64_t ns);
uint64_t image_end(const struct image *im); /* its last moment, on CLOCK_MONOTONIC */

/* Each part: made with the image, fed with the records of its kinds, finished (all that waited is
 * settled; after image_resolve charges are possible), freed. */
struct part {
    enum err (*create)(struct image *im);
    enum err (*settle)(struct image *im); /* end of file: spots are complete after it */
    enum err (*charge)(struct image *im); /* spots are resolved: what needs sites */
    void (*free)(struct image *im);
};
extern const struct part part_cpu, part_heap, part_gpu, part_ranges;

enum err cpu_sample(struct image *im, const struct trace_sample *s);
enum err cpu_wait(struct image *im, const struct trace_wait *w);

enum err heap_alloc(struct image *im, const struct trace_alloc *a);
enum err heap_free(struct image *im, const struct trace_free *f);
enum err heap_copy(struct image *im, const struct trace_copy *c);
enum err heap_footprint(struct image *im, const struct trace_footprint *f);
/* Replays alloc and free in order of time against the sites' holdings; at most once per image. */

enum err gpu_record(struct image *im, const struct trace_item *item);

enum err range_record(struct image *im, const struct trace_range *r);
enum err range_cpu(struct image *im, uint64_t time, double weight, uint32_t spot); /* a sample */
/* The innermost open range instance of a thread + 1, 0 none; and its share of a device operation.
 */
uint32_t range_now(struct image *im, struct thread *t);
void range_operation(struct image *im, uint32_t instance, uint64_t call, uint64_t start,
                     uint64_t end);

/* clock.c: CUPTI's clock to CLOCK_MONOTONIC. */
enum err clock_read(struct image *im, const char *path);
uint64_t clock_of(const struct image *im, uint64_t gpu_ns);
int clock_unknown(const struct image *im); /* times were read, and nothing relates them */
void clock_free(struct image *im);

/* frames.c: a stack resolved, leaf first. */
enum frame_class { FRAME_USER, FRAME_LIBRARY, FRAME_RUNTIME };
struct resolved {
    const char *function, *file, *module; /* file: as recorded, NULL unknown */
    int line, begins;
    enum frame_class class;
    int python, inlined;
};
enum { RESOLVED_MAX = 1024 };
/* At most `max` frames; *interpreter: the innermost code that is no runtime's is the interpreter.
 */
int frames_of(struct image *im, uint32_t stack, struct resolved *out, int max, int *interpreter);

/* sites.c: spots to sites, tree, modules. */
enum err charge_spots(struct image *im);
enum err charge_kernel(struct image *im, uint32_t spot, uint32_t kernel, double n, double ns);
enum err charge_device_leaf(struct image *im, uint32_t spot, const char *name, const char *kind,
                            double ns);
enum err site_of(struct run *r, const char *recorded, int line, const char *function, int begins,
                 int *out);

/* rules.c */
enum frame_class rules_class(struct run *r, const char *file, const char *module, int python);
int rules_interpreter(const char *module);
int rules_eval(const char *function); /* the interpreter's loop */
/* As shown. The text must live as long as the run, for both. */
const char *rules_path(struct run *r, const char *recorded);
int rules_own(const char *file); /* of no installed package */
/* Any text with the paths in it shown likewise. */
const char *rules_words(struct run *r, const char *text);
const char *range_style(uint32_t style);

/* The stack, plus 1, at which the main thread stood at `time`; 0 unknown. For `settle`. */
uint32_t cpu_main_stack(struct image *im, uint64_t time);
/* children.c: a PROCESS record; at the end what to say of those without a trace, item.count 0 none.
 */
enum err children_made(struct image *im, const struct trace_item *item);
enum err children_without_trace(struct run *r, struct model_item *item);

#endif
