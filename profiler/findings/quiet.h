/* Answers beside those of lines: programs that failed, imports, idle programs, those without own
 * lines, few samples. */
#ifndef TP_FINDINGS_QUIET_H
#define TP_FINDINGS_QUIET_H

#include "profiler/analyze/model/model.h"

#define QUIET_LONG   10 /* s: a run for which the start-up may be the answer */
#define QUIET_ENOUGH 20 /* samples: below them no line is named */

/* 1: too few samples were taken to name a line. Captures of other tools may not tell how many. */
static inline int quiet_few(const struct model *m)
{
    return m->totals.cpu.samples != MODEL_UNKNOWN && m->totals.cpu.samples < QUIET_ENOUGH;
}

/* Finds the item about a program that waited long for a CPU; NULL: it did not. */
const struct model_item *quiet_busy(const struct model *m);
/* Seconds of the run in which its main thread waited for the next request, job or event. */
double quiet_idle_s(const struct model *m);
/* Tells of the line that does. */
enum err quiet_idle(const struct model *m, struct model_answer *out);
enum err quiet_too_few(const struct model *m, struct model_answer *out);
/* Adds what the program imports inside of calls, and as it begins; own_s: of what they are shares,
 * `of` says what that leaves out. */
enum err quiet_imports(const struct model *m, double own_s, const char *of,
                       struct model_answer out[2], int *n);
/* Tells of the line that took most CPU time itself, of a run that own code explains little. */
enum err quiet_library_line(const struct model *m, double cpu_s, double own_s,
                            struct model_answer *out, int *found);
/* 1: an answer about imports as the program begins. */
int quiet_is_start(const struct model_answer *a);

/* failed.c: puts how the program failed, and what could not be recorded, before headline and
 * answers, which are there. ERR_MEMORY. */
enum err failed_lead(struct model *m);

#endif
