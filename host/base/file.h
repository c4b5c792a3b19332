/* Files: whole reads with a size limit, and writes that appear only when complete. */
#ifndef TP_BASE_FILE_H
#define TP_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "host/base/err.h"

/* A file written beside its final place and renamed over it by outfile_commit; a crash or
 * outfile_abort leaves the old file, if any, as it was. A device or pipe (/dev/stdout) is written
 * directly. */
struct outfile {
    FILE *stream; /* write here; NULL when closed */
    char *path, *temporary;
};

enum err outfile_open(struct outfile *f, const char *path);
/* Flushes, syncs errors (full disk!), closes, renames. On failure the temporary is removed. */
enum err outfile_commit(struct outfile *f);
void outfile_abort(struct outfile *f); /* safe on a committed or never opened (zeroed) one */

/* fwrite that fails with a sentence naming the file and errno. */
enum err outfile_write(struct outfile *f, const void *data, size_t bytes);

/* Removes the temporaries of all files open now. Async-signal-safe: for a handler that ends the
 * process. */
void outfile_remove_temporaries(void);

/* Whole file into a malloc'ed, NUL-terminated block. ERR_INPUT above `limit` bytes. */
enum err file_read_all(const char *path, size_t limit, char **data, size_t *bytes);

enum err dir_make(const char *path); /* with its parents; fine when it exists */

#endif
