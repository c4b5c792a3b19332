/* Reads timing.json for triage, of this project or of the format that it extends: the median
 * seconds of each operation and size, declared work, growth. Anything that cannot be a time is left
 * out with a note. */
#ifndef TP_TRIAGE_INPUT_TIMING_H
#define TP_TRIAGE_INPUT_TIMING_H

#include "base/timing/timing.h"

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

#endif
