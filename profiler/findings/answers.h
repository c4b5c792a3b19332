/* The headline, the cards below it, and an answer for each region and NVTX range. */
#ifndef TP_FINDINGS_ANSWERS_H
#define TP_FINDINGS_ANSWERS_H

#include "profiler/findings/run_facts.h"

/* Fills headline and answers of a model that has its findings: the headline's first, then those
 * that could save most. There is always one. ERR_MEMORY. */
enum err answers_add(struct model *m, const struct run_facts *facts);

/* Fills answer and advice of the model's ranges, where there are enough samples. ERR_MEMORY. */
enum err range_answers_add(struct model *m, const struct run_facts *facts);

#endif
