/* The rows of `doctor`: one probe per capability of this build and this machine, each for itself.
 * The table is probes.c; probe_KIND.c look. */
#ifndef TP_CLI_DOCTOR_PROBES_H
#define TP_CLI_DOCTOR_PROBES_H

#include <stddef.h>
#include <stdio.h>

#include "cli/doctor/facts.h"

/* Findings of a probe of `doctor`, in words, and questions that several probes ask. */

#define FOUND_BYTES 600

enum state { OK, LIMITED, MISSING };

struct found {
    char text[FOUND_BYTES];
    const char *consequence, *fix; /* in the place of the table's where this case has its own */
};
#define SAY(f, ...) snprintf((f)->text, sizeof(f)->text, __VA_ARGS__)
void found_add(struct found *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first line of a file, "" when it cannot be read. */
char *probe_line(const char *path, char *out, size_t n);
int probe_in_wsl(void);

typedef enum state probe_fn(struct found *f);
probe_fn probe_processor, probe_memory, probe_clock, probe_disk, probe_container, probe_wsl;
probe_fn probe_library, probe_timers, probe_limits, probe_reads, probe_tasks, probe_python,
    probe_others, probe_captures, probe_ranks;
probe_fn probe_cuda, probe_driver, probe_cupti, probe_counters, probe_cufft;

/* All rows: for people a table, as JSON a group "rows" with state (ok, limited, missing), what was
 * found, and where it is not ok the consequence and what to do. */
void probes_print(struct facts *f);

#endif
