/* The same with the model in hand; apart from profile.h because geometry has a `struct model` too.
 */
#ifndef TP_CLI_RUNS_PROFILE_MODEL_H
#define TP_CLI_RUNS_PROFILE_MODEL_H

#include "host/cli/runs/profile.h"
#include "profiler/analyze/analyze.h"

/* Analyses folder/trace and writes folder/profile.json. */
enum err profile_make(const char *folder, const struct profile_options *o, struct model **out);

/* "recon.py:12 took 34 % of the CPU time", "" when nothing is known. */
void profile_top(const struct model *m, char top[256]);

#endif
