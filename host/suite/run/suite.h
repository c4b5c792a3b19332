/* The profile suite: catalogue of operations x sizes x runs, each operation and size in its own
 * child process, collected into timing.json. */
#ifndef TP_SUITE_RUN_SUITE_H
#define TP_SUITE_RUN_SUITE_H

#include <stdint.h>
#include <stdio.h>

#include "host/backend/backend.h"
#include "host/suite/statistics/targets.h"

/* The traced pass: the same operations again, fewer runs, with the capture library in them. */
struct suite_tracer {
    /* Environment of children whose traces go to run/trace, which it makes. NULL with the reason in
     * err_text() when there can be no trace. */
    char **(*environment)(const char *run);
    void (*release)(char **environment);
};

/* Several processes that run each operation together, this one first among them: cells are then run
 * here, not in children. */
#define SUITE_SHARES 256
struct run_state;
struct crew;
struct suite_team {
    int size;
    struct crew *crew; /* host/cluster/crew.h */
    /* An operation that is ready to run; its runs; its end. */
    enum err (*send)(struct crew *crew, struct run_state *s);
    enum err (*run)(struct crew *crew, struct run_state *s, double *seconds, struct work *work);
    enum err (*release)(struct crew *crew);
    /* Writes the share and time of each process, as a line of text. */
    void (*shares)(const struct crew *crew, char text[SUITE_SHARES]);
};

struct suite_plan {
    const char *ops;     /* comma list or NULL = all */
    const char *sizes;   /* comma list or NULL = 32,64,128,256, or the group's */
    const char *group;   /* its operations alone, or NULL */
    int large;           /* 512 and 1024 too */
    const char *gate;    /* file of targets, or NULL */
    int64_t traced_runs; /* of the traced pass; 0: two */
    int64_t runs;        /* >= 1; run 1 is cold */
    int64_t warmup;      /* runs before those, without rows */
    const char *backend; /* auto | cpu | cuda */
    int64_t threads;     /* 0 = all */
    double timeout_s;    /* per child */
    const char *out;     /* output folder; the run is written to out/<UTC stamp>/ */
    const char *program; /* path of this program, to start children */
    const char *version;
    uint64_t seed;   /* 42 */
    const char *set; /* "KEY=VALUE KEY=VALUE" for the operations that take the keys; NULL */
    const volatile int *stop; /* non-zero ends the run early with what there is (optional) */
    const struct suite_tracer *tracer; /* NULL: no traced pass */
    char *const *environment;          /* of children; NULL: this process's */
    const char *previews;              /* folder for pictures of reconstructions; NULL: none */
    int traced;                        /* children need not calibrate */
    int calibrate;                     /* children measure the machine, whatever is kept of it */
    double traced_cpu_s; /* traced children run on until they used so much CPU time; 0: no more */
    const struct suite_team *team; /* NULL: this process and its children */
};

/* Runs the plan; writes timing.json, log.txt and out/latest; prints progress and the closing table
 * on stderr. Returns ERR_FAILED when a row failed, ERR_INTERRUPTED after *stop (timing.json holds
 * what there is). */
enum err suite_run(const struct suite_plan *plan);

/* The parameters of a child. */
struct child_plan {
    const char *op, *backend;
    int64_t size, runs, threads, warmup;
    const char *shape; /* "512x512x30"; NULL: a cube */
    uint64_t seed;
    const char *set; /* as above */
    int fd;
    const char *previews;          /* folder for the picture of a reconstruction, NULL: none */
    const char *gate;              /* targets that pairs are measured for, NULL: none */
    int traced;                    /* no calibration: its time would be in the profile */
    int calibrate;                 /* the machine is measured, whatever is kept of it */
    double traced_cpu_s;           /* runs that are not reported follow until so much was used */
    const struct suite_team *team; /* NULL: one process */
    FILE *out;                     /* instead of fd, left open; NULL: fd */
};

/* Runs as a child, started by the suite as
 *   PROGRAM child-run --op NAME --size N --runs N --backend NAME --threads N --seed N --fd N
 * [--shape RxCxS] [--previews DIR] [--gate FILE] (cli/commands/child.c):
 * prepares operation `op` at `size`, runs it `runs` times, writes JSON lines to `fd`. */
enum err suite_child(const struct child_plan *plan);

/* Copy rate, read + written, of two arrays that together are as large as the operation's own: the
 * best one, its ceiling when they fit the caches. like_runs: the median of copies that are measured
 * as runs are, each result looked at before the next. 0 when it cannot be measured. */
struct operation;
struct ct_model;
double suite_copy_rate(struct backend *be, const struct operation *op, const struct ct_model *m,
                       int like_runs);
size_t suite_copy_bytes(const struct operation *op, const struct ct_model *m); /* of one array */

/* Rates that the machine reaches; 0: unknown. kept_s: since the peak was measured, where it is a kept one
 * (rate_file.h); `anew`: none is taken. */
struct suite_rates {
    struct peak peak;
    double cached_bytes_per_s, like_runs_bytes_per_s, kept_s;
};
void suite_calibrate(struct run_state *s, int anew, struct suite_rates *out);

/* Pairs of calls of a step that is ready to run and of copies that move as many bytes as it must,
 * each result looked at, until the targets about shares of the copy rate are decided, at most for
 * some seconds. share->n = 0: no target asks for them, the step moves too little, or memory lacks
 * room for the copies. *bytes: of one copy, read and written. */
enum err suite_pairs(struct run_state *s, double size, const struct targets *targets,
                     struct pair_share *share, double *bytes);

/* Row `index` of the catalogue as a line of text (name, group, access pattern, what it does), at
 * most 100 columns. Returns 0 past the end. */
#define SUITE_LINE 101
int suite_describe(int index, char line[SUITE_LINE]);

#endif
