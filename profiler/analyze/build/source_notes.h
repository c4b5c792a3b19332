/* Notes the text of a source file when the run had just ended: what is analysed again later shows
 * that text or none, whatever happened to the file, its times and the clock. */
#ifndef TP_ANALYZE_BUILD_SOURCE_NOTES_H
#define TP_ANALYZE_BUILD_SOURCE_NOTES_H

#include "profiler/analyze/state/run.h"

/* From sources.txt beside the traces; not where the run has just ended. */
enum err source_notes_read(struct run *r);
/* `path`: a real one. -1: it is not noted; else whether it had this text. */
int source_is_as_noted(const struct run *r, const char *path, const char *text, size_t bytes);
enum err source_note(struct run *r, const char *path, const char *text, size_t bytes);
/* Writes the notes that were made now. */
enum err source_notes_write(const struct run *r);

#endif
