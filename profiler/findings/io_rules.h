/* Rules about input and output: what storage, requests, repeated reading and decoding cost. */
#ifndef TP_FINDINGS_IO_RULES_H
#define TP_FINDINGS_IO_RULES_H

#include "profiler/analyze/model/model.h"

enum { IO_RULES_MOST = 16 };

/* Fills at most IO_RULES_MOST rows. Each has its numbers, the gain as a range, and the test that
 * would refute it. ERR_MEMORY. */
enum err io_rules(struct model *m, struct model_finding *rows, int *count);

/* load_rules.c, of io_rules: placing, processes, slow and uneven requests, memory. */
struct io_finder;
enum err load_rules(struct io_finder *f);
enum err wait_rules(struct io_finder *f); /* connections, page faults, fsync */

#endif
