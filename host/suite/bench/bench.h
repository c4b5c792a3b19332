/* Micro-benchmarks: operations x sizes x numbers of threads, each in its own child process, kept in
 * a file (bench.schema.json beside this one) and compared by the ratio to what the machine could do
 * at that moment. */
#ifndef TP_SUITE_BENCH_BENCH_H
#define TP_SUITE_BENCH_BENCH_H

#include <stdio.h>

#include "host/suite/run/results.h"

/* What an operation's rate counts, per second. */
enum bench_unit { UNIT_UPDATES, UNIT_ROWS, UNIT_VOXELS, UNIT_ITERATIONS };
extern const char *const bench_unit_names[]; /* "updates", "rows", ...; ended by NULL */
enum bench_unit bench_unit_of(const struct operation *op);

/* Which share of the machine's measured peak is the larger one. */
enum bench_bound { BOUND_UNKNOWN, BOUND_ARITHMETIC, BOUND_COPY };

/* One operation at one size with one number of threads. NAN: unknown; all numbers but size and
 * threads are unless the status is ok. Rate, shares and cycles belong to the least time: what
 * disturbs a run makes it longer, and the calibration beside it is a best of many as well. */
struct bench_row {
    char operation[48];
    int64_t size, threads, runs; /* runs: those counted, without the warm-up */
    enum row_status status;
    char reason[256]; /* why it is not ok, else "" */
    enum bench_unit unit;
    double amount;              /* units in one run */
    double min, median, spread; /* s, s, standard deviation over mean */
    double rate, roof_share;
    enum bench_bound bound;
    int implausible;
    struct work work;
    double cycles_per_unit; /* core cycles of all threads */
    char cycles_reason[128];
    double efficiency;                    /* t1 / (threads t); needs the row of 1 thread */
    double peak_bytes, closed_form_bytes; /* arrays and scratch; the latter by formula */
    struct calibration before, after;
};

struct bench_results {
    char timestamp[TIMESTAMP];
    int64_t repeat;
    uint64_t seed;
    int interrupted;
    struct environment environment; /* threads: all that the process may use. Read from a file:
                                       backend, cpu, isa and threads alone */
    struct bench_row *rows;
    int count;
};
void bench_free(struct bench_results *r);
/* NULL when there is none. */
const struct bench_row *bench_find(const struct bench_results *r, const char *operation,
                                   int64_t size, int64_t threads);

struct bench_plan {
    const char *ops, *sizes, *threads; /* comma lists; NULL: all, 256, 1 and all */
    int64_t repeat;                    /* runs of each that count, after one that does not */
    const char *backend, *program, *version;
    uint64_t seed;
    const volatile int *stop; /* non-zero ends early with what there is (optional) */
};
/* Checks the plan and describes the machine: all rows are there, skipped ("not reached"). */
enum err bench_prepare(const struct bench_plan *plan, struct bench_results *out);
/* Measures them in turn. on_row(row) follows each (optional). ERR_FAILED when one failed,
 * ERR_INTERRUPTED after *stop. */
enum err bench_run(const struct bench_plan *plan, struct bench_results *r,
                   void (*on_row)(const struct bench_row *row));

void bench_write(FILE *out, const struct bench_results *r);
/* Adds the rows of a file. ERR_INPUT for another schema, an incomplete row, or another class of
 * machine than r's when r has rows. */
enum err bench_read(const char *path, struct bench_results *r);

/* ERR_INPUT with a sentence unless both come from the same back end, instruction set and number of
 * usable threads. *other_cpu (optional): same class, but another processor model. */
enum err bench_same_class(const char *path, const struct bench_results *file,
                          const struct bench_results *here, int *other_cpu);

/* Change of the peak that bounds the row while it ran, over the larger value; NAN when unknown. */
double bench_drift(const struct bench_row *row);

enum bench_verdict {
    VERDICT_UNKNOWN, /* a row failed, or has no calibration */
    VERDICT_SAME,    /* within a factor of 1 + tolerance */
    VERDICT_FASTER,  /* faster or slower by more than that, whichever of its calibrations counts */
    VERDICT_SLOWER,
    VERDICT_UNSTEADY, /* the calibrations before and after differ too much to tell */
};
struct bench_comparison {
    double ratio; /* > 1: slower */
    enum bench_verdict verdict;
};
/* Compares costs: least time times the rate of the peak that bounded the row then, which is what
 * the machine could have done in that time. A slower moment of the same machine gives the same
 * cost. `ratio` takes the larger of each row's two calibrations. */
struct bench_comparison bench_compare(const struct bench_row *now, const struct bench_row *then,
                                      double tolerance);

#endif
