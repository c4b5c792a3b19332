/* Reads timing.json for triage, of this project or of the format that it extends: the median
 * seconds of each operation and size, declared work, growth. Anything that cannot be a time is left
 * out with a note. */
#ifndef TP_TRIAGE_INPUT_TIMING_H
#define TP_TRIAGE_INPUT_TIMING_H

#include "base/err.h"

#define TIMING_NAME 64
#define NOTES_MOST  64

/* Sentences about the input's quality. */
struct notes {
    char *text[NOTES_MOST];
    int count;
};
void notes_add(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
void notes_free(struct notes *n);

/* NAN where unknown. */
struct timing_row {
    char operation[TIMING_NAME];
    double size, seconds, cv, flops, bytes;
    double flops_counted, bytes_counted; /* by the processor, where an imported run has them */
    double gpu_time, moved;              /* seconds; bytes of the larger direction */
    int runs, cold;
};
struct timing_growth {
    char operation[TIMING_NAME];
    double exponent, overhead_share, r2;
    int sizes;
};
struct timing {
    struct timing_row *rows;
    struct timing_growth *growth;
    int rows_count, growth_count;
    char backend[16], device[128], cpu[128]; /* "" unknown */
    int threads;                             /* 0 unknown */
    double gflops, gbytes_per_s;             /* calibration, median of the rows */
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
