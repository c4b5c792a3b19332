/* Rules about ranks of an MPI program that wait for each other. */
#ifndef TP_FINDINGS_RANK_RULES_H
#define TP_FINDINGS_RANK_RULES_H

#include "profiler/analyze/model/model.h"

#define RANK_RULES_MOST 2

/* Up to RANK_RULES_MOST rows, whose ids begin with "mpi.": who is late and where that is waited
 * for, and transfers. ERR_MEMORY. */
enum err rank_rules(struct model *m, struct model_finding *rows, int *count);

/* Seconds that a rank waited for late ones, mean; 0 where there are none. */
double rank_rules_late(const struct model *m);

#endif
