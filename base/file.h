/* Files: whole reads with a size limit, and writes that appear only when complete. */
#ifndef TP_BASE_FILE_H
#define TP_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* A file written beside its final place and renamed over it by outfile_commit; a crash or
 * outfile_abort leaves the old file, if any, as it was. The new one has the mode of the one that it
 * replaces. A symbolic link of that name is replaced, never followed; those that a user names are
 * resolved by the option parser (OPT_OUTPUT). A device or pipe (/dev/stdout) is written directly;
 * a pipe that nobody reads is refused. */
struct outfile {
    FILE *stream; /* write here; NULL when closed */
    char *path, *temporary;
};

enum err outfile_open(struct outfile *f, const char *path);
/* Flushes, syncs errors (full disk!), closes, renames. On failure the temporary is removed. */
enum err outfile_commit(struct outfile *f);
void outfile_abort(struct outfile *f); /* safe on a committed or never opened (zeroed) one */

/* Makes `path` a symbolic link to `target`, made beside it and renamed, as above. 0 and errno where
 * it cannot be made: then `path` is as it was. */
int file_link(const char *path, const char *target);

/* fwrite that fails with a sentence naming the file and errno. */
enum err outfile_write(struct outfile *f, const void *data, size_t bytes);
enum err outfile_flush(struct outfile *f);

/* ERR_IO with both numbers where the disk of `path` has less room than `bytes`: before the work, which
 * would end there. A device or pipe takes any number. */
enum err file_require_space(const char *path, int64_t bytes);

/* Removes the temporaries of all files open now. Async-signal-safe: for a handler that ends the
 * process. */
void outfile_remove_temporaries(void);

/* Removes what another process, which has ended, had begun to write in this folder:
 * NAME.PROCESS.tmp and NAME.PROCESS.N.tmp, files and trees; `name` NULL: of any name. */
void outfile_remove_begun(const char *folder, const char *name, long process);

/* Opens a regular file for reading. Refused at once, with a sentence that says what it is: a
 * folder, a pipe (which could block for ever), a socket, a device. */
enum err file_open(const char *path, FILE **f);

/* Whole file into a malloc'ed, NUL-terminated block. ERR_INPUT above `limit` bytes. */
enum err file_read_all(const char *path, size_t limit, char **data, size_t *bytes);

/* A file that grows over the limit (ulimit -f) is an error of the write from now on, not the end of
 * this process by SIGXFSZ. The other gives the signal back: for a child, before its exec. */
void file_limit_is_error(void);
void file_limit_restore(void);

/* Path of `name` beside this program, in the folder above (a build's, for its tests) or in
 * ../lib/tomoprof (installed); 0 and "" where it is in none of them. In a library that told its
 * folder: in that, or in tomoprof below it. */
int file_beside_program(char *path, size_t room, const char *name);
void file_library_folder(const char *folder); /* "/opt/lib/", which stays valid; once, at first */

enum err dir_make(const char *path); /* with its parents; fine when it exists */
void dir_remove(const char *path); /* a file, or a folder with all in it; links are not followed */

#endif
