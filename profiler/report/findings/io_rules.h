/* Rules about input and output: what storage, requests, repeated reading and decoding cost. */
#ifndef TP_REPORT_FINDINGS_IO_RULES_H
#define TP_REPORT_FINDINGS_IO_RULES_H

#include "profiler/analyze/model/model.h"

enum { IO_RULES_MOST = 10 };

/* Fills at most IO_RULES_MOST rows. Each has its numbers, the gain as a range whose upper end is
 * gain_s, and the test that would refute it. ERR_MEMORY. */
enum err io_rules(struct model *m, struct model_finding *rows, int *count);

#endif
