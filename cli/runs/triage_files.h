/* A run's files to its verdicts: triage.json, triage.md and triage.svg in a folder. */
#ifndef TP_CLI_RUNS_TRIAGE_FILES_H
#define TP_CLI_RUNS_TRIAGE_FILES_H

#include "base/run_folder.h"
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

#endif
