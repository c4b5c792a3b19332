/* Shows paths without what is personal in them. */
#ifndef TP_ANALYZE_ATTRIBUTE_PATHS_H
#define TP_ANALYZE_ATTRIBUTE_PATHS_H

#include "profiler/analyze/state/run.h"

/* Returns a path as shown. The text must live as long as the run. */
const char *path_shown(struct run *r, const char *recorded);
/* Returns any text with the paths in it shown likewise. */
const char *path_shown_in(struct run *r, const char *text);

#endif
