/* After a run: what recording costs a process and a signal on this machine. */
#ifndef TP_CLI_RUNS_PRICED_H
#define TP_CLI_RUNS_PRICED_H

#include "profiler/record/record.h"

/* `settings` are those of the run, which took so much CPU time. Processes are measured where it had
 * several, and a start where it was short. */
void priced_measure(const struct record_settings *settings, double cpu_s,
                    struct record_prices *out);

#endif
