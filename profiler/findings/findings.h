/* Findings are what is worth a change in a run, with their evidence; answers are the headline of
 * the report and its cards. */
#ifndef TP_FINDINGS_FINDINGS_H
#define TP_FINDINGS_FINDINGS_H

#include <stdio.h>

#include "profiler/analyze/analyze.h"

/* Fills findings, answers and headline of a model that is otherwise finished. ERR_MEMORY. */
enum err findings_add(struct model *m);

/* Analyses a recording to its model with findings: analyze_run, then `add` (NULL: nothing), which
 * puts what only the launcher knows into the model, then findings_add. *out: NULL on failure. */
enum err findings_of_run(const char *run_folder, const struct analyze_options *options,
                         enum err (*add)(const void *facts, struct model *m), const void *facts,
                         struct model **out);

/* Writes the table of rules for the docs, as Markdown. */
void findings_rules_write(FILE *out);

#endif
