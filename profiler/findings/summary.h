/* How a run is summed up where no more than a line or a table has room. The page follows the same
 * rules (report/page/assets/summary.js). */
#ifndef TP_FINDINGS_SUMMARY_H
#define TP_FINDINGS_SUMMARY_H

#include "profiler/analyze/model/model.h"

/* 1: it slept, read or waited for others for most of its time, which CPU time does not explain. */
int summary_waits(const struct model *m);
/* 1: most of its CPU time has no source line. */
int summary_lacks_lines(const struct model *m);

#endif
