/* A capture of another tool to our model. */
#ifndef TP_IMPORT_IMPORT_H
#define TP_IMPORT_IMPORT_H

#include "profiler/analyze/model/model.h"
#include "profiler/import/source/source.h"

/* Reads a capture into a model, with findings and headline. ERR_INPUT where no source knows the
 * bytes. */
enum err import_file(const char *path, const struct import_options *o, struct model **out);

extern const struct import_source *const import_sources[]; /* ends with NULL */

#endif
