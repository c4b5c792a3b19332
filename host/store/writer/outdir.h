/* Folders that are written: they appear under their name only when complete. */
#ifndef TP_STORE_WRITER_OUTDIR_H
#define TP_STORE_WRITER_OUTDIR_H

#include "base/err.h"

/* Makes the folder `made`, which appears as `path` when it is complete. A handler that ends the process
 * removes it, for 0.4 s. */
enum err outdir_begin(const char *made);
/* Renames it; path NULL, or on failure: removes it with all in it. */
enum err outdir_end(const char *made, const char *path);
void outdir_remove_temporaries(void); /* async-signal-safe */

#endif
