/* Lines of C that Cython has generated, and the lines of .pyx that they come from. */
#ifndef TP_ANALYZE_ATTRIBUTE_CYTHON_H
#define TP_ANALYZE_ATTRIBUTE_CYTHON_H

#include "profiler/analyze/state/run.h"

/* Replaces file and line where the file is generated and tells the source of its line; *file lives
 * as long as the run. The file as recorded is read once. */
enum err cython_source(struct run *r, const char **file, int *line);
void cython_free(struct run *r);

#endif
