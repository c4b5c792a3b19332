/* A table of runs of the suite with different numbers of threads. */
#ifndef TP_CLI_RESULTS_THREADS_REPORT_H
#define TP_CLI_RESULTS_THREADS_REPORT_H

#include "base/err.h"
#include "base/run_folder.h"

enum { THREADS_RUNS = 8 };

/* Prints to stderr the median of each operation and size for each run, how many times faster the
 * last is than the first, and the command that compares these two. */
enum err threads_report(const char folders[][RUN_PATH], int count);

#endif
