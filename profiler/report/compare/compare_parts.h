/* The parts of compare_runs. */
#ifndef TP_REPORT_COMPARE_COMPARE_PARTS_H
#define TP_REPORT_COMPARE_COMPARE_PARTS_H

#include "base/timing/timing.h"
#include "profiler/analyze/model/model.h"
#include "profiler/report/compare/compare.h"

struct compare_times { /* warm, untraced, successful runs of one operation and size */
    char *name;
    int size, count;
    double *seconds;
};

struct compare_side {
    char *path;
    struct timing_file *timing; /* NULL: none */
    struct model *profile;      /* NULL: none */
    struct compare_times *times;
    int times_count;
};

enum err compare_side_read(const char *path, struct compare_side *out);
void compare_side_free(struct compare_side *s);
/* "environment.KEY" of timing.json, which must be there, as JSON, malloc'ed; NULL: unknown */
char *compare_environment(const struct compare_side *s, const char *key);

/* Judges an interval of ratios; NaN: undecided. */
enum compare_verdict compare_judge(double low, double high);
/* Lines and edits, wall and CPU time of two recorded programs. */
enum err compare_profiles(struct comparison *c, const struct model *a, const struct model *b);
/* Functions by name, where one of the runs was imported. */
enum err compare_functions(struct comparison *c, const struct model *a, const struct model *b);
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
