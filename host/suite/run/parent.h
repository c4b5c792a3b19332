/* One operation at one size, in a process of its own. */
#ifndef TP_SUITE_RUN_PARENT_H
#define TP_SUITE_RUN_PARENT_H

#include <stdio.h>

#include "host/suite/run/results.h"

/* Starts the child for c->op at c->size and fills c: every row becomes ok, failed (crash, timeout,
 * no memory, wrong result; reason) or skipped (more memory needed than there is, or *stop set;
 * reason). Needs no error of its own. `log` receives the child's stderr; on_tick(context) is called
 * about 10 times a second. */
void cell_run(const struct suite_plan *options, FILE *log, struct cell *c,
              void (*on_tick)(void *context), void *context);

#endif
