/* Makes the folder for the traces of a run. */
#ifndef TP_CLI_RUNS_TRACE_FOLDER_H
#define TP_CLI_RUNS_TRACE_FOLDER_H

#include "base/run_folder.h"

/* Makes run/trace and gives its absolute name, short enough for the capture library. */
#define TRACING_PATH 512
enum err tracing_folder(const char *run, char out[TRACING_PATH]);

/* The tracer of the suite (struct suite_tracer) and the run that it traced, "" when none. */
extern const struct suite_tracer tracing_suite;
const char *tracing_run(void);
/* Samples a second of its recordings from now on; 0: the library's own. */
void tracing_set_rate(double hz);

#endif
