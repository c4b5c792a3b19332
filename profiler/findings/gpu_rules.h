/* Rules G2, G4 and G6 about the GPU, and what would refute those of findings.c. */
#ifndef TP_FINDINGS_GPU_RULES_H
#define TP_FINDINGS_GPU_RULES_H

#include "profiler/analyze/model/model.h"

enum { GPU_RULES_MOST = 4 };

/* Fills at most GPU_RULES_MOST rows. ERR_MEMORY. */
enum err gpu_rules(struct model *m, struct model_finding *rows, int *count);

/* Adds the test, and the lower end of the gain, to rows of rules that have none. */
void gpu_rules_refute(struct model_finding *rows, int count);

#endif
