/* A run's files to its verdicts: triage.json, triage.md and triage.svg in a folder. */
#ifndef TP_CLI_RUNS_RUN_FILES_H
#define TP_CLI_RUNS_RUN_FILES_H

#include "base/err.h"
#include "base/run_folder.h"
#include "profiler/analyze/model/model.h"
#include "profiler/triage/triage.h"

struct triage_paths { /* "": there is none */
    char folder[RUN_PATH], timing[RUN_PATH + 16], profile[RUN_PATH + 16];
};

int is_file(const char *path);
/* Finds the files of the run in p->folder. ERR_INPUT when it has neither times nor a profile. */
enum err triage_find(struct triage_paths *p);
/* Makes the verdicts; `o` without version and sass. The result is freed with triage_destroy. */
enum err triage_of(const struct triage_paths *p, struct triage_options o, struct triage **out);
/* The three files, each written beside its place and renamed. */
enum err triage_files(const struct triage *t, const char *folder);
/* All of it for a finished run, which is whole without: what fails is said. */
void triage_folder(const char *folder, struct triage_options o);

/* Flame graphs of a run of the suite, beside its profile.json. */

/* Returns 1 where a timing.json lies beside that profile.json. */
int flame_is_suite(const char *profile);
/* Into `folder`, NULL: flamegraphs beside profile.json; m NULL: it is read. */
enum err flame_files(const char *profile, const struct model *m, const char *folder);

/* Makes the folder for the traces of a run. */

/* Makes run/trace and gives its absolute name, short enough for the capture library. */
#define TRACING_PATH 512
enum err tracing_folder(const char *run, char out[TRACING_PATH]);

/* Copies /tmp/perf-PID.map of each process of `trace`, a folder of trace files, into it. */
enum err perf_maps_keep(const char *trace);

/* The tracer of the suite (struct suite_tracer) and the run that it traced, "" when none. */
extern const struct suite_tracer tracing_suite;
const char *tracing_run(void);
/* Samples a second of its recordings from now on; 0: the library's own. */
void tracing_set_rate(double hz);

#endif
