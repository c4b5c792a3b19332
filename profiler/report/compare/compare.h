/* Two runs side by side: per operation and size the ratio of median times with the interval in
 * which it lies, per source line the difference of CPU time with its sampling error; lines are
 * followed through edits of their file. */
#ifndef TP_REPORT_COMPARE_COMPARE_H
#define TP_REPORT_COMPARE_COMPARE_H

#include <stdio.h>

#include "base/err.h"

/* Assumed, not measured: two runs of one program may differ by so much for no reason of its own
 * (clock speed, placement in memory). A smaller change is not called one. */
#define COMPARE_LEAST 0.03
/* An operation is unchanged when its interval lies this close to 1. */
#define COMPARE_CLOSE 0.10

enum compare_verdict {
    COMPARE_SAME,
    COMPARE_FASTER,
    COMPARE_SLOWER,
    COMPARE_UNDECIDED,
    COMPARE_ONLY_A,
    COMPARE_ONLY_B,
    COMPARE_REMOVED, /* lines: their text is in A alone */
    COMPARE_ADDED
};
const char *compare_verdict_name(enum compare_verdict v);

struct compare_operation {
    char *name;
    int size;
    double a, b;      /* medians, s; NaN: not measured there */
    double ratio;     /* b / a */
    double low, high; /* 99 % interval of the ratio; NaN with fewer than 2 runs on a side */
    int runs_a, runs_b;
    int runs_needed; /* undecided: warm runs a side that should decide; 0: none would, or unknown */
    enum compare_verdict
        verdict; /* slower: low > 1 + LEAST; faster: high < 1 - LEAST; same: within CLOSE of 1 */
};

struct compare_line {
    char *file, *text;            /* text NULL unknown */
    long long line_a, line_b;     /* 0: the line is not in that state of the file */
    double a, b;                  /* CPU time itself, s; 0 where the line took none */
    double error;                 /* standard error of b - a */
    enum compare_verdict verdict; /* by three standard errors and LEAST; added, removed */
};

/* Neighbouring lines that were edited: [a, a + a_count) of A became [b, b + b_count) of B. */
struct compare_edit {
    char *file;
    int a, a_count, b, b_count;
    double a_s, b_s; /* CPU time of the lines themselves */
    double error;    /* standard error of b_s - a_s */
    enum compare_verdict verdict;
    char *diff; /* "-old\n+new\n", cut after 20 lines */
};

/* Runs that other tools captured have shares 0..1 of the CPU time, callees included. */
struct compare_function {
    char *name;
    double a, b;
};

/* Runs that other tools captured have numbers that both may know. */
struct compare_quantity {
    const char *group; /* total, range, kernel */
    char *name;
    const char *unit;           /* s, bytes */
    double a, b;                /* NaN unknown */
    long long count_a, count_b; /* samples, ranges, launches; -1 unknown */
};

struct comparison {
    char *a, *b;  /* as given */
    char *answer; /* one sentence: what became slower or faster, by how much */
    struct compare_operation *operations;
    struct compare_line
        *lines; /* by the size of the difference; lines below 0.1 % of both runs are left out */
    struct compare_edit *edits; /* by the size of the difference; of files with lines as above */
    struct compare_function *functions; /* by the larger share, from 1 % on */
    struct compare_quantity *quantities;
    int operations_count, lines_count, edits_count, functions_count, quantities_count;
    double wall_a, wall_b, cpu_a, cpu_b; /* of recorded programs, s; NaN: no profile on a side */
    int causes_filled;                   /* 1: rootcause.md of A got its measured column */
    char **warnings; /* what makes the two runs an unfair pair: machine, tool chain, program */
    int warnings_count;
    int machines_differ; /* 1: some warning means that times must not be judged */
};

/* `a`, `b`: run folders, or a timing.json or profile.json. ERR_INPUT when they have nothing in
 * common. */
enum err compare_runs(const char *a, const char *b, struct comparison **out);
void compare_free(struct comparison *c);

/* The operation with the largest growth of its median above `limit` (0.1 = 10 %), among those whose
 * interval lies above 1 or that have none. NULL: none. */
const struct compare_operation *compare_over(const struct comparison *c, double limit);

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
