/* The parts of compare_runs. */
#ifndef TP_REPORT_COMPARE_COMPARE_PARTS_H
#define TP_REPORT_COMPARE_COMPARE_PARTS_H

#include "profiler/report/compare/compare.h"
#include "profiler/report/compare/compare_read.h"

/* The verdict on an interval of ratios; NaN: undecided. */
enum compare_verdict compare_judge(double low, double high);
/* Lines and edits, wall and CPU time of two recorded programs. */
enum err compare_profiles(struct comparison *c, const struct model *a, const struct model *b);
/* Functions by name, where one of the runs was imported. */
enum err compare_functions(struct comparison *c, const struct model *a, const struct model *b);
/* Totals, ranges and kernels, likewise. */
enum err compare_quantities(struct comparison *c, const struct model *a, const struct model *b);
/* The other tool that recorded a profile; NULL: this program. */
const char *compare_tool(const struct model *m);
/* What else differs: machine, tool chain, program, sampling. */
enum err compare_warnings(struct comparison *c, const struct compare_side *a,
                          const struct compare_side *b);
/* c->answer, from all of the above. */
enum err compare_answer(struct comparison *c);

#endif
