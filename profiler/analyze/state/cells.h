/* Code that stood in no file: the cells of a notebook. cells.json beside the traces has for each
 * the file name of its code objects, the name that a reader knows ("In [3]"), and its text. */
#ifndef TP_ANALYZE_STATE_CELLS_H
#define TP_ANALYZE_STATE_CELLS_H

#include "profiler/analyze/state/run.h"

/* From the folder of the traces; a file that cannot be read is an item of the data quality. */
enum err cells_read(struct run *r);
/* The name of the cell whose code has this file name; NULL: it is not a cell. */
const char *cells_name(const struct run *r, const char *file);
/* The name of the cell with this number; NULL behind the last. */
const char *cells_at(const struct run *r, int number);
/* The text of the cell with this name; NULL: it is not a cell. */
const char *cells_text(const struct run *r, const char *name);

#endif
