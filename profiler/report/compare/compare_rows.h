/* The rows of a comparison: what is judged, and how. */
#ifndef TP_REPORT_COMPARE_COMPARE_ROWS_H
#define TP_REPORT_COMPARE_COMPARE_ROWS_H

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
    COMPARE_ADDED,
    COMPARE_GONE, /* functions: they took time in A, and no sample met them in B */
    COMPARE_NEW
};
const char *compare_verdict_name(enum compare_verdict v);

#define COMPARE_NAME 160

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

/* The times of one side's runs. */
struct compare_sample {
    int n;
    double median, mean, sd, min, max; /* NaN: unknown; sd with fewer than 2 runs */
};

/* Holds what the whole program took: by the runs without the recorder where both sides have them
 * (`record --runs`), else by one recording a side, whose noise is unknown. */
struct compare_total {
    const char *name, *unit; /* wall time, CPU time: s; peak memory: MB */
    struct compare_sample a, b;
    double ratio;     /* of the medians, B / A */
    double low, high; /* as of an operation */
    int runs_needed;
    enum compare_verdict verdict;
};

struct compare_line {
    char *file, *text;            /* text NULL unknown */
    long long line_a, line_b;     /* 0: the line is not in that state of the file */
    double a, b;                  /* CPU time itself, s; 0 where the line took none */
    double error;                 /* standard error of b - a */
    enum compare_verdict verdict; /* by three standard errors and LEAST; added, removed */
};

/* Writes "cone_back_project at size 64"; of a way to load its name alone. */
void compare_operation_name(const struct compare_operation *o, char out[COMPARE_NAME]);

/* Neighbouring lines that were edited: [a, a + a_count) of A became [b, b + b_count) of B. */
struct compare_edit {
    char *file;
    int a, a_count, b, b_count;
    double a_s, b_s; /* CPU time of the lines themselves */
    double error;    /* standard error of b_s - a_s */
    enum compare_verdict verdict;
    char *diff; /* "-old\n+new\n", cut after 20 lines */
};

/* A function by the CPU time that it took with its callees: by name and file. Runs that other tools
 * captured have shares alone. */
struct compare_function {
    char *name;
    double a, b;              /* share 0..1 of the CPU time, callees included */
    char *file, *text;        /* where it begins in B, or A, and that line; NULL unknown */
    long long line_a, line_b; /* 0 unknown */
    int own;                  /* in a file of the program's own code */
    double a_s, b_s;          /* inclusive, s; NaN: another tool's run */
    double own_a_s, own_b_s;  /* part of it in its own lines, with the libraries that they call */
    double error;             /* standard error of b_s - a_s: of sampling, and of the runs' noise */
    enum compare_verdict verdict;
};

/* A call of the tree of both sides' stacks: parents come first. */
struct compare_stack {
    int parent, own, python; /* parent: -1 none; own: in a file of the program's own code */
    long long line;          /* 0 or less: unknown */
    char *function, *file, *module;
    double a_s, b_s; /* CPU time of the call itself */
};

/* Runs that other tools captured have numbers that both may know. */
struct compare_quantity {
    const char *group; /* total, range, kernel */
    char *name;
    const char *unit;           /* s, bytes */
    double a, b;                /* NaN unknown */
    long long count_a, count_b; /* samples, ranges, launches; -1 unknown */
};

/* Names the verdict on a total: memory is larger, not slower. */
const char *compare_total_verdict(const struct compare_total *t);

#endif
