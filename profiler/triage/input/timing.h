/* Reads timing.json for triage, of this project or of the format that it extends: the median
 * seconds of each operation and size, declared work, growth. Anything that cannot be a time is left
 * out with a note. */
#ifndef TP_TRIAGE_INPUT_TIMING_H
#define TP_TRIAGE_INPUT_TIMING_H

#include "base/timing/timing.h"
#include "profiler/analyze/model/model.h"
#include "profiler/triage/model/primitive.h"

#define TIMING_NAME 64
#define NOTES_MOST  64

/* Sentences about the input's quality. */
struct notes {
    char *text[NOTES_MOST];
    int count;
};
void notes_add(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
void notes_free(struct notes *n);

/* The runs of one operation and size; NAN where unknown. */
struct timing_row {
    const char *operation;
    double size, seconds, cv, flops, bytes;
    double flops_counted, bytes_counted; /* by the processor, where an imported run has them */
    double gpu_time, moved;              /* seconds; bytes of the larger direction */
    int runs;
};
struct timing {
    struct timing_file *file; /* NULL: none; owns the names of operations */
    struct timing_row *rows;
    int rows_count;
    double gflops, gbytes_per_s; /* calibration, median of the rows */
};

/* ERR_INPUT when it is not such a file, or holds no time at all. */
enum err timing_read(const char *path, struct timing *t, struct notes *notes);
void timing_free(struct timing *t);

/* NULL when it was not measured. */
const struct timing_row *timing_find(const struct timing *t, const char *operation, double size);
/* The growth of the file, else the slope of log t over log N from 3 sizes on; a reason in *why
 * otherwise. */
double timing_exponent(const struct timing *t, const char *operation, double *overhead,
                       const char **why);
double timing_largest(const struct timing *t);

/* Reconstructions and what they are made of. A composite operation's time is credited to the
 * primitives in it: from the named ranges of its traced pass where there are any, else by the
 * primitives' own rows times the number of calls. */

#define PARTS_MOST     8
#define WORKLOADS_MOST 8

struct workload_part {
    const struct primitive *primitive; /* NULL: the rest */
    double calls;                      /* NAN where only the time is known */
    double seconds, share;             /* shares of a workload add up to 1; NAN unknown */
    double uncut;                      /* share before the parts were made to fit, at most 1 */
    const char *source;                /* "range", "row", "remainder", "unknown" */
};
struct workload {
    const char *operation;
    double size, seconds;
    struct workload_part parts[PARTS_MOST];
    int count;
    int disagrees; /* the traced pass says another time of a part than its own row */
};
struct workloads {
    struct workload item[WORKLOADS_MOST];
    int count;
    int from_ranges; /* how many are decomposed by a profile's ranges */
};

/* The reconstructions measured at `size`. profile may be NULL. */
void workloads_find(const struct timing *t, const struct model *profile, double size,
                    struct workloads *out, struct notes *notes);
/* Row i of the operations at this size that have neither a model nor parts; NULL past the end. */
const struct timing_row *not_judged(const struct timing *t, double size, int i);

/* Seconds by primitive in the longest process of the profile that ran `operation`; 0 when the
 * profile has no such process with all its ranges. */
int ranges_seconds(const struct model *profile, const char *operation, double *whole,
                   double seconds[], int primitives);

/* Share of a reconstruction with p in it, or after it (median); NAN when that is not known. */
int workload_has(const struct workload *w, const struct primitive *p);
double workload_share(const struct workload *w, const struct primitive *p, const struct timing *t);

#endif
