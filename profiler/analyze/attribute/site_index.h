/* Sites by file and line: made when first asked for. */
#ifndef TP_ANALYZE_ATTRIBUTE_SITE_INDEX_H
#define TP_ANALYZE_ATTRIBUTE_SITE_INDEX_H

#include "profiler/analyze/state/run.h"

/* The site of a line, or (line 0) of a function that begins at line `begins`. */
enum err site_of(struct run *r, const char *recorded, int line, const char *function, int begins,
                 int *out);

#endif
