/* From what was added up to the model. */
#ifndef TP_ANALYZE_BUILD_BUILD_H
#define TP_ANALYZE_BUILD_BUILD_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_facts;    /* META and NOTE records: facts.c */
extern const struct collector collector_children; /* processes that were made: children.c */
extern const struct collector collector_jit; /* names of code that the process made: jit_load.c */
/* Takes what an image says of its process; rows [start-up], [tomoprof], [threads] and [shutdown]. */
extern const struct collector collector_accounts;

enum err build_process(struct run *r, struct image *im); /* its row, sets im->index */
enum err build_image(struct image *im);                  /* its end: threads, losses, costs */
enum err build_model(struct run *r);                     /* the end of all */
void build_free(struct run *r);                          /* the run; its model unless taken */

enum err build_accounts(struct run *r); /* of build_meta */
int account_is_row(const char *module);
/* 1: compiled code of the program's own has no known lines: how to build it is of use. */
int account_lacks_lines(const struct model *m);
enum err build_overhead(struct run *r); /* overhead.c, of build_quality: what the recorder took */
/* For build_quality: many processes of little CPU time; item.text NULL: few. */
enum err accounts_short(struct run *r, struct model_item *item);
/* Few samples, or fewer a second than were asked for; an item without a text: neither. */
enum err sampling_few(struct run *r, struct model_item *item);
enum err sampling_rate(struct run *r, struct model_item *item);
/* For build_quality: describes processes without a trace; item.count 0: none. */
enum err children_without_trace(struct run *r, struct model_item *item);

/* Parts of build_model, in this order. */
enum err build_totals(struct run *r);
enum err build_files(struct run *r);
enum err build_stacks(struct run *r);
enum err build_gpu(struct run *r);
enum err build_kernels(struct run *r); /* of build_gpu */
enum err build_timeline(struct run *r);
enum err build_memory(struct run *r);
enum err build_io(struct run *r);
enum err build_reading(struct run *r); /* of build_io: lines that read, by what takes their time */
enum err build_locks(struct run *r);
enum err build_own(struct run *r);  /* the call tree of own code, with the critical path */
enum err build_path(struct run *r); /* of build_own */
/* queues.c: for how much of each second a thread was ready for a CPU. */
struct queues {
    double bin_ns, *ready, *all; /* ready, all: ns by thread and bin */
    size_t bins;
};
enum err queues_make(const struct run *r, struct queues *q); /* of run.moments. ERR_MEMORY */
double queues_share(const struct queues *q, int thread, double t_ns); /* around `t_ns`, 0 to 1 */
void queues_free(struct queues *q);
/* child_waits.c: adds the time for which node `own` waited at `t_s` to the programs that `process`
 * runs then, those that wait for others left out. ERR_MEMORY. */
enum err child_waits_add(struct run *r, uint32_t own, int process, double t_s, double ns);
/* Returns 1 where `root` waits for a child that starts, or of which nothing is known, for longer than a start
 * takes: it has no CPU. active: rows of r->moments at `t`. */
int child_waits_ready(const struct run *r, const struct moment_of *root, uint64_t t,
                      const size_t *active, size_t count);
/* Marks by process what runs another program than its parent and has no own code (gzip, ffmpeg). */
void child_waits_foreign(const struct run *r, char *foreign);
/* Returns the one of them that ran longest while node `own` waited; NULL: none did. */
const char *child_waits_program(const struct run *r, uint32_t own);
enum err build_quality(struct run *r);
enum err source_texts(struct run *r); /* texts of lines */

/* Only seconds of the run are asked for: the accounts of the whole say nothing of them. */
static inline int build_of_part(const struct run *r)
{
    return r->from_s > 0 || r->options->until_s > 0;
}

struct model_cpu cpu_of(const struct run *r, const struct costs *s);

static inline double ns_to_seconds(double ns)
{
    return ns * 1e-9;
}
static inline double bytes_to_megabytes(double bytes)
{
    return bytes / 1048576;
}

#endif
