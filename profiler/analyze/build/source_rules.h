/* Which files' text may go into a profile. */
#ifndef TP_ANALYZE_BUILD_SOURCE_RULES_H
#define TP_ANALYZE_BUILD_SOURCE_RULES_H

#include <limits.h>

#include "profiler/analyze/state/run.h"

/* `recorded`, below `folder` where it is relative, without links; 0: it does not exist. */
int source_real_path(const char *folder, const char *recorded, char path[PATH_MAX]);

/* Whether the file (a real path) lies below the recorded working folder, a folder of the program or
 * of its packages, the sources of the system, or TOMOPROF_SOURCE_DIRS; not in a hidden folder of
 * the first two. */
int source_is_own(const struct run *r, const char *path);

#endif
