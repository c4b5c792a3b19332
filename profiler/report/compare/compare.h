/* Two runs side by side: per operation and size the ratio of median times with the interval in
 * which it lies, per source line the difference of CPU time with its sampling error; lines are
 * followed through edits of their file. */
#ifndef TP_REPORT_COMPARE_COMPARE_H
#define TP_REPORT_COMPARE_COMPARE_H

#include <stdio.h>

#include "base/err.h"
#include "profiler/report/compare/compare_rows.h"

struct comparison {
    char *a, *b;  /* as given */
    char *answer; /* one sentence: what became slower or faster, by how much */
    struct compare_operation *operations;
    struct compare_line
        *lines; /* by the size of the difference; lines below 0.1 % of both runs are left out */
    struct compare_edit *edits; /* by the size of the difference; of files with lines as above */
    struct compare_function *functions; /* by the larger share, from 1 % on */
    struct compare_quantity *quantities;
    struct compare_stack *stacks;
    struct compare_total totals[3];
    int operations_count, lines_count, edits_count, functions_count, quantities_count, totals_count;
    int stacks_count;
    double noise_a, noise_b; /* sd / mean of the CPU time of each side's runs; 0 unknown */
    double wall_a, wall_b, cpu_a, cpu_b; /* of recorded programs, s; NaN: no profile on a side */
    int causes_filled;                   /* 1: rootcause.md of A got its measured column */
    char **warnings; /* what makes the two runs an unfair pair: machine, tool chain, program */
    int warnings_count;
    int machines_differ; /* 1: some warning means that times must not be judged */
    char parts[200];     /* sides that hold a part of their run alone, as sentences; "": neither */
};

/* `a`, `b`: run folders, or a timing.json or profile.json. ERR_INPUT when they have nothing in
 * common. */
enum err compare_runs(const char *a, const char *b, struct comparison **out);
void compare_free(struct comparison *c);

/* The operation with the largest growth of its median above `limit` (0.1 = 10 %), among those whose
 * interval lies above 1 or that have none. NULL: none. */
const struct compare_operation *compare_over(const struct comparison *c, double limit);
/* The wall time of two programs where it grew more than that, likewise. NULL: it did not. */
const struct compare_total *compare_total_over(const struct comparison *c, double limit);

void compare_text(const struct comparison *c, FILE *out, int top);
void compare_json(const struct comparison *c, FILE *out);
enum err compare_html(const struct comparison *c, const char *path);

/* The interval that holds the ratio of B's times to A's with 99 %: by ranks (Mann and Whitney, no
 * assumption about the noise) where there are times enough, about 5 a side; else by Student's t of
 * the logarithms, which takes the noise of both sides as equal and normal. NaN with fewer than 2
 * times on a side. A bootstrap is not used: with 3 times a side its "95 %" is exceeded by 10 % of
 * pairs that do not differ. */
void compare_interval(const double *a, int na, const double *b, int nb, double *low, double *high);

#endif
