/* The rows of `doctor`: one probe per capability of this build and this machine, each for itself.
 * The table is probes.c; probe_KIND.c look. */
#ifndef TP_CLI_DOCTOR_PROBES_H
#define TP_CLI_DOCTOR_PROBES_H

#include "cli/doctor/facts.h"
#include "cli/doctor/found.h"

typedef enum state probe_fn(struct found *f);
probe_fn probe_processor, probe_memory, probe_clock, probe_disk, probe_container, probe_wsl;
probe_fn probe_library, probe_timers, probe_limits, probe_reads, probe_tasks, probe_python,
    probe_others, probe_captures, probe_ranks;
probe_fn probe_cuda, probe_driver, probe_cupti, probe_counters, probe_cufft;

/* All rows: for people a table, as JSON a group "rows" with state (ok, limited, missing), what was
 * found, and where it is not ok the consequence and what to do. */
void probes_print(struct facts *f);

#endif
