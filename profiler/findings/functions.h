/* Functions of a run by their CPU time, and which functions call them. */
#ifndef TP_FINDINGS_FUNCTIONS_H
#define TP_FINDINGS_FUNCTIONS_H

#include "profiler/analyze/model/model.h"

enum { FUNCTION_CALLERS = 3 };

struct function_row {
    const char *name, *place; /* "[unknown]"; its file or module without folders, "" unknown */
    int own, rank;            /* own 1: in a file of own code; rank: order of rows */
    double self_s, incl_s;    /* incl_s: with all that it calls; recursion counts once */
    struct {
        const char *name;
        double share;            /* 0..1 of incl_s that was spent in calls from there */
    } callers[FUNCTION_CALLERS]; /* largest first; a function does not call itself here */
    int callers_count;
};

/* The functions that have CPU time of their own, and own code that calls such: first those with 1 %
 * of it or more, then own code by inclusive time, then the rest. What Python's interpreter does for
 * a Python function is that function's. Free with free(). ERR_MEMORY. */
enum err functions_find(const struct model *m, struct function_row **rows, size_t *count);

/* How a run is summed up where no more than a line or a table has room. The page follows the same
 * rules (report/page/assets/summary.js). */

/* 1: it slept, read or waited for others for most of its time, which CPU time does not explain. */
int summary_waits(const struct model *m);
/* 1: most of its CPU time has no source line. */
int summary_lacks_lines(const struct model *m);

#endif
