/* The parts of compare_runs. */
#ifndef TP_REPORT_COMPARE_COMPARE_PARTS_H
#define TP_REPORT_COMPARE_COMPARE_PARTS_H

#include "base/json/jsonw.h"
#include "base/timing/timing.h"
#include "profiler/analyze/model/model.h"
#include "profiler/report/compare/compare.h"

struct compare_times { /* warm, untraced, successful runs of one operation and size */
    char *name;
    int size, count;
    double *seconds;
};

enum { COMPARE_LOAD_FACTS = 5 }; /* the array, its chunks, the cache, where to, the file system */

struct compare_side {
    char *path;
    char *load[COMPARE_LOAD_FACTS]; /* of loading.json; NULL: there is none */
    double load_s, load_cpu_s;
    struct timing_file *timing; /* NULL: none */
    struct model *profile;      /* NULL: none */
    struct compare_times *times;
    int times_count;
};

/* Adds a time to the operation of that name and size. */
enum err compare_add_time(struct compare_side *s, const char *name, int size, double seconds);
enum err compare_load_read(const char *path, struct compare_side *s);
/* Fills rootcause.md of A by the later load B. */
enum err compare_load_causes(const struct compare_side *a, const struct compare_side *b,
                             const char *name, int *filled);
enum err compare_side_read(const char *path, struct compare_side *out);
void compare_side_free(struct compare_side *s);
/* "environment.KEY" of timing.json, which must be there, as JSON, malloc'ed; NULL: unknown */
char *compare_environment(const struct compare_side *s, const char *key);

/* Judges an interval of ratios; NaN: undecided. */
enum compare_verdict compare_judge(double low, double high);
/* Lines and edits, wall and CPU time of two recorded programs. */
enum err compare_profiles(struct comparison *c, const struct model *a, const struct model *b);
/* Fills c->totals and the noise of both sides. */
void compare_totals(struct comparison *c, const struct model *a, const struct model *b);
/* Warm runs a side with which an undecided interval should decide; 0: none would. */
int compare_runs_needed(double ratio, double low, double high, int runs);
double compare_median(double *x, int n); /* sorts x */
/* Judges two times by the standard error of their difference, and COMPARE_LEAST. */
enum compare_verdict compare_judge_difference(double a, double b, double error);
/* Pairs and judges the functions of two recordings of this program. */
enum err compare_own_functions(struct comparison *c, const struct model *a, const struct model *b);
/* The file of the other side: of the same path, or, where each side has one own file of a language
 * that the other lacks, that one: a script that was saved under another name. */
const struct model_file *compare_file_of(const struct model *m, const struct model *other,
                                         const struct model_file *f);
/* Functions by name and share: one of the runs was imported. */
enum err compare_functions(struct comparison *c, const struct model *a, const struct model *b);
/* Joins the stacks of both sides in one tree. */
enum err compare_stacks(struct comparison *c, const struct model *a, const struct model *b);
void compare_stacks_free(struct comparison *c);
void compare_stacks_json(const struct comparison *c, struct jsonw *w);
/* Compares totals, ranges and kernels, likewise. */
enum err compare_quantities(struct comparison *c, const struct model *a, const struct model *b);
/* The other tool that recorded a profile; NULL: this program. */
const char *compare_tool(const struct model *m);
/* Warns of other differences: machine, tool chain, program, sampling. */
enum err compare_warnings(struct comparison *c, const struct compare_side *a,
                          const struct compare_side *b);
/* c->answer, from all of the above. */
enum err compare_answer(struct comparison *c);

/* Finds the line that each line of a file became when the file was edited. */

/* The texts of two states of a file, [1, length]; NULL where a line's text is unknown. */
struct align {
    const char **a, **b;
    int length_a, length_b;
    int *to_b;   /* for each line of A, from 1 on: its number in B, 0: deleted or edited */
    int *to_a;   /* the other way round */
    int by_text; /* 0: by numbers, see below */
};

/* Lines that are equal in both, in order, as many as can be (Myers 1986). Where a file's text is
 * not known as a whole, or the states differ in more than 2,000 lines, lines are the same where
 * their numbers are. Either file may be NULL: it has no lines. ERR_MEMORY. */
enum err align_files(const struct model_file *a, const struct model_file *b, struct align *out);
void align_free(struct align *x);

#endif
