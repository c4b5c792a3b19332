/* Python functions that were sent to another process by value (joblib, dask, ray): cloudpickle, from
 * 3.1.3 on, takes the file's name out of their code ("<dynamic-code>") and leaves name and line. */
#ifndef TP_ANALYZE_STATE_SENT_CODE_H
#define TP_ANALYZE_STATE_SENT_CODE_H

#include "profiler/analyze/state/image.h"

/* A file in which code may stand that is sent later: a script, or an own module that was seen. */
enum err sent_code_may_be_in(struct run *r, const char *file);
/* The file or notebook cell in which the function `name` (qualified) begins at this line; NULL: it is
 * in none of the known, or in several. */
const char *sent_code_file(struct run *r, const char *name, int first_line);
int sent_code_is(const char *file);
void sent_code_free(struct run *r);

#endif
