/* Files that a command reads are never its outputs, by device and inode. */
#ifndef TP_BASE_INPUTS_H
#define TP_BASE_INPUTS_H

#include <sys/stat.h>

#include "base/options.h"

/* Notes the rows' inputs, follows symbolic links that the user names as outputs, and refuses an
 * output that is an input or another output. Call it once, after the command's words were noted. */
enum err inputs_check(struct opt *rows);

/* Notes a file that the command reads, or, of a run's folder, what commands read of a run;
 * `remade`: its profile.json may be written all the same. Missing files and other words are fine.
 * A copy of `name` is kept, for sentences. */
enum err inputs_note(const char *name, int remade);

/* The name under which a regular file was noted; NULL: it was not. */
const char *inputs_name(const struct stat *st);

#endif
