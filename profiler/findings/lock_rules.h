/* Rules about locks that threads wait for. */
#ifndef TP_FINDINGS_LOCK_RULES_H
#define TP_FINDINGS_LOCK_RULES_H

#include "profiler/analyze/model/model.h"

/* *found: 1: `row` says which line holds the lock that costs the run most. ERR_MEMORY. */
enum err lock_rules(struct model *m, struct model_finding *row, int *found);

#endif
