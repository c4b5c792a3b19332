/* Two runs side by side: per operation and size the ratio of median times with a bootstrap interval
 * over the runs, per source line the difference of CPU time with its sampling error. */
#ifndef TP_REPORT_COMPARE_COMPARE_H
#define TP_REPORT_COMPARE_COMPARE_H

#include <stdio.h>

#include "host/base/err.h"

enum compare_verdict {
    COMPARE_SAME,
    COMPARE_FASTER,
    COMPARE_SLOWER,
    COMPARE_UNSURE,
    COMPARE_ONLY_A,
    COMPARE_ONLY_B
};
const char *compare_verdict_name(enum compare_verdict v);

struct compare_operation {
    char *name;
    int size;
    double a, b;  /* medians, s; NaN: not measured there */
    double ratio; /* b / a */
    double low,
        high; /* 95 % of the bootstrap's ratios of medians; NaN with fewer than 3 runs on a side */
    int runs_a, runs_b;
    enum compare_verdict
        verdict; /* slower: low > 1; faster: high < 1; unsure: too few runs for an interval */
};

struct compare_line {
    char *file, *text; /* text NULL unknown */
    long long line;
    double a, b;                  /* CPU time itself, s; 0 where the line took none */
    double error;                 /* standard error of b - a */
    enum compare_verdict verdict; /* by two standard errors */
};

struct comparison {
    char *a, *b; /* as given */
    struct compare_operation *operations;
    struct compare_line
        *lines; /* by the size of the difference; lines below 0.1 % of both runs are left out */
    int operations_count, lines_count;
    char **warnings; /* what makes the two runs no fair pair: machine, tool chain, sizes */
    int warnings_count;
    int machines_differ; /* 1: some warning means that times must not be judged */
};

/* `a`, `b`: run folders, or a timing.json or profile.json. ERR_INPUT when they have nothing in
 * common. */
enum err compare_runs(const char *a, const char *b, struct comparison **out);
void compare_free(struct comparison *c);

/* The first operation with a median that grew by more than `limit` (0.1 = 10 %); its interval,
 * where there is one, is above 1. NULL: none. */
const struct compare_operation *compare_over(const struct comparison *c, double limit);

void compare_text(const struct comparison *c, FILE *out, int top);
void compare_json(const struct comparison *c, FILE *out);
enum err compare_html(const struct comparison *c, const char *path);

/* Middle 95 % of the ratios median(b*) / median(a*) of `draws` resamples with replacement, from a
 * fixed seed. n >= 1. */
void compare_bootstrap(const double *a, int na, const double *b, int nb, int draws, double *low,
                       double *high);

#endif
