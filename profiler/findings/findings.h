/* Findings are what is worth a change in a run, with their evidence; answers are the headline of
 * the report and its cards. */
#ifndef TP_FINDINGS_FINDINGS_H
#define TP_FINDINGS_FINDINGS_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* Fills findings, answers and headline of a model that is otherwise finished. ERR_MEMORY. */
enum err findings_add(struct model *m);

/* Writes the table of rules for the docs, as Markdown. */
void findings_rules_write(FILE *out);

#endif
