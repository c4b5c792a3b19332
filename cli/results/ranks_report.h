/* Tells which process did which part, where several share an operation. */
#ifndef TP_CLI_RESULTS_RANKS_REPORT_H
#define TP_CLI_RESULTS_RANKS_REPORT_H

#include "host/cluster/crew.h"
#include "host/suite/run/suite.h"

struct jsonw;
/* Prints nothing for NULL. */
void ranks_report_print(const struct crew *w);
/* "shared": "slices" or null; "ranks": an object for each, inside an object that is open. */
void ranks_report_write(struct jsonw *w, const struct crew *crew);
/* Writes the same in a line. */
void ranks_report_line(const struct crew *w, char text[SUITE_SHARES]);

#endif
