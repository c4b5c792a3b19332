/* What `info` says about a run. */
#ifndef TP_CLI_COMMANDS_INFO_TIMING_H
#define TP_CLI_COMMANDS_INFO_TIMING_H

#include "base/timing/timing.h"

/* Whether its schema is one of tomoprof's timings; NULL is not. */
int info_is_timing(const struct timing_file *t);

/* Environment, counts of rows and the statistics on stdout; as one JSON object when `json`. */
void info_timing(const char *path, const struct timing_file *t, int json);

#endif
