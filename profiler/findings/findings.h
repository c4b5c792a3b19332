/* What is worth a change in a run, with its evidence: the headlines of the report. */
#ifndef TP_FINDINGS_FINDINGS_H
#define TP_FINDINGS_FINDINGS_H

#include "profiler/analyze/model/model.h"

/* Fills the findings of a finished model, the largest gain first. ERR_MEMORY. */
enum err findings_add(struct model *m);

/* Fills the answers of a model that has its findings: the headline first, then what could save
 * most. There is always one. ERR_MEMORY. */
enum err answers_add(struct model *m);

#endif
