/* record --with: the program once more under another profiler, whose capture is imported beside
 * ours. */
#ifndef TP_CLI_RUNS_WITH_TOOL_H
#define TP_CLI_RUNS_WITH_TOOL_H

#include "base/err.h"
#include "base/run_folder.h"

/* ERR_UNSUPPORTED, with what to install, where the tool is not in PATH. */
enum err with_tool_check(const char *name);

/* Writes RUN/NAME/: the capture, its profile.json and report.html; RUN/compare.json of both, and
 * RUN/report.html with it. `page` gets the name of the latter. The program's output is dropped, its
 * exit status is not judged. */
enum err with_tool(const char *name, const char *run, char *const command[], char page[RUN_PATH]);

#endif
