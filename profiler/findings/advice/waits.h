/* Lines that wait: what for, in words. */
#ifndef TP_FINDINGS_ADVICE_WAITS_H
#define TP_FINDINGS_ADVICE_WAITS_H

#include "profiler/analyze/model/model.h"

/* 1: threads wait there for others to finish or to give them work, and these wait for each other for
 * most of `cost` s meanwhile: they are to be told. */
int waits_for_work(const struct model *m, const struct model_own *at, double cost);
/* Writes what a line that waits does, "waits for `gzip` (1.1 s of CPU time)"; returns the kind of
 * wait, as in model_own. */
const char *waits_words(const struct model *m, const struct model_own *at, char *out, size_t size);

#endif
