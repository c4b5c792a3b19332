/* The answer about compilation at run time, added up over lines, threads and child processes. */
#ifndef TP_FINDINGS_ADVICE_COMPILE_H
#define TP_FINDINGS_ADVICE_COMPILE_H

#include "profiler/findings/run_facts.h"

/* Fills *out, or leaves out->kind NULL where little was compiled. *line_s: CPU seconds of it that
 * the line in *out started. ERR_MEMORY. */
enum err compile_answer(struct model *m, const struct run_facts *facts, struct model_answer *out,
                        double *line_s);

#endif
