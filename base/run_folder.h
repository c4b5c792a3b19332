/* Folders of runs: OUT/<UTC stamp>/, and OUT/latest: a relative symbolic link to the newest, or a
 * text file that names it where links cannot be made. */
#ifndef TP_BASE_RUN_FOLDER_H
#define TP_BASE_RUN_FOLDER_H

#include <sys/types.h>

#include "base/err.h"

#define RUN_PATH 4096

/* Makes out/<stamp>, or out/<stamp>-2 and so on when another run began in the same second. */
enum err run_make(const char *out, char folder[RUN_PATH]);

/* Returns the mode of a run's folders: 0700. Those whom the umask lets write may enter too: 022
 * gives 0700, 002 gives 0770. Not while threads make files. */
mode_t run_mode(void);
/* From here on this process makes all files with that rule: 0600, or 0660. */
void run_private(void);

/* Makes `latest` beside `folder` lead to it. */
enum err run_latest(const char *folder);

/* The folder that `name` means: a run, a folder of runs or its `latest` (then the newest), or
 * "latest" alone (output/latest) where no such file is. ERR_INPUT where `latest` leads out of its
 * folder. */
enum err run_find(const char *name, char folder[RUN_PATH]);

/* 1: `name` is a file, and not a `latest` that names a run. */
int run_is_file(const char *name);

#endif
