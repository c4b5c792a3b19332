/* Answers that are about no costly line: programs that failed, idle ones, those without own lines,
 * few samples. */
#ifndef TP_FINDINGS_QUIET_H
#define TP_FINDINGS_QUIET_H

#include "profiler/analyze/model/model.h"

#define QUIET_ENOUGH 20 /* samples: below them no line is named */

/* 1: too few samples were taken to name a line. Captures of other tools may not tell how many. */
static inline int quiet_few(const struct model *m)
{
    return m->totals.cpu.samples != MODEL_UNKNOWN && m->totals.cpu.samples < QUIET_ENOUGH;
}

/* Seconds of the run in which its main thread waited for the next request, job or event. */
double quiet_idle_s(const struct model *m);
/* Tells of the line that does. */
enum err quiet_idle(const struct model *m, struct model_answer *out);
enum err quiet_too_few(const struct model *m, struct model_answer *out);
/* "cc1plus used 14 of the 15 s of CPU time", of the program whose processes used most; 0 where none
 * used half. others: of programs other than the first process's. */
int quiet_busiest(const struct model *m, int others, char *out, size_t size);

/* failed.c: puts how the program failed before headline and answers, which are there; nothing where
 * it did not. ERR_MEMORY. */
enum err failed_lead(struct model *m);

#endif
