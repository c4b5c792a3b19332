/* Perf maps of recorded processes, kept with the run: /tmp is emptied, and pids come again. */
#ifndef TP_CLI_RUNS_PERF_MAPS_H
#define TP_CLI_RUNS_PERF_MAPS_H

#include "base/err.h"

/* Copies /tmp/perf-PID.map of each process of `trace` (a folder of trace files) into it. */
enum err perf_maps_keep(const char *trace);

#endif
