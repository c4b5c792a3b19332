/* Flame graphs of a run of the suite, beside its profile.json. */
#ifndef TP_CLI_RUNS_FLAME_FILES_H
#define TP_CLI_RUNS_FLAME_FILES_H

#include "base/err.h"
#include "profiler/analyze/model/model.h"

/* Returns 1 where a timing.json lies beside that profile.json. */
int flame_is_suite(const char *profile);
/* Into `folder`, NULL: flamegraphs beside profile.json; m NULL: it is read. */
enum err flame_files(const char *profile, const struct model *m, const char *folder);

#endif
