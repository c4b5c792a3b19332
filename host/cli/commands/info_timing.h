/* What `info` says about a run. */
#ifndef TP_CLI_COMMANDS_INFO_TIMING_H
#define TP_CLI_COMMANDS_INFO_TIMING_H

#include "host/base/err.h"

/* Whether `text` is JSON with a schema of tomoprof's timings. */
int info_is_timing(const char *text);

/* Environment, counts of rows and the statistics on stdout; as one JSON object when `json`.
 * ERR_INPUT when `text` is no such file. */
enum err info_timing(const char *path, const char *text, int json);

#endif
