/* Captures of other tools to a run's profile.json; .nsys-rep and perf.data through their own tools.
 */
#ifndef TP_CLI_RUNS_CAPTURED_H
#define TP_CLI_RUNS_CAPTURED_H

#include "profiler/import/import.h"

/* ERR_UNSUPPORTED where the tool that reads the file is not installed. */
enum err captured_read(const char *path, const struct import_options *o, struct model **out);

/* Runs another tool to its end, what it prints to the file `to`; status 127: it is not installed.
 */
enum err captured_run(char *const words[], const char *to, int *status);

/* Writes folder/profile.json of an imported model. */
enum err captured_write(struct model *m, const char *folder);

#endif
