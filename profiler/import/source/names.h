/* Parses the names of events: functions with their file and line, directions of copies. */
#ifndef TP_IMPORT_SOURCE_NAMES_H
#define TP_IMPORT_SOURCE_NAMES_H

#include "profiler/import/build/builder.h"

/* "file.py(12): func" (PyTorch), "$file.py:12 func" (JAX), "func (file.py:12)" (py-spy), "func
 * file.py:12" (tomoprof); else a function without a source line. */
void name_frame(struct builder *b, const char *name, struct model_frame *f);

/* Returns the kind of a frame by its file: "python" or "native"; NULL: no file. */
const char *name_kind(const char *file);

/* "Memcpy HtoD (Pageable -> Device)", "MemcpyD2H", "h2d" */
void name_copy(const char *name, struct import_operation *o);

#endif
