/* record --with: the program once more under another profiler, whose capture is imported beside
 * ours. */
#ifndef TP_CLI_RUNS_WITH_TOOL_H
#define TP_CLI_RUNS_WITH_TOOL_H

#include "base/err.h"
#include "base/run_folder.h"
#include "profiler/import/import.h"

/* Captures of other tools to a run's profile.json; .nsys-rep and perf.data through their own tools.
 */

/* ERR_UNSUPPORTED where the tool that reads the file is not installed. */
enum err captured_read(const char *path, const struct import_options *o, struct model **out);

/* Writes folder/profile.json of an imported model. */
enum err captured_write(struct model *m, const char *folder);

/* ERR_UNSUPPORTED, with what to install, where the tool is not in PATH. */
enum err with_tool_check(const char *name);

/* Writes RUN/NAME/: the capture, its profile.json and report.html; RUN/compare.json of both, and
 * RUN/report.html with it. `page` gets the name of the latter. The program's output is dropped, its
 * exit status is not judged. */
enum err with_tool(const char *name, const char *run, char *const command[], char page[RUN_PATH]);

#endif
