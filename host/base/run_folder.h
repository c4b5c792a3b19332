/* Folders of runs: OUT/<UTC stamp>/, and OUT/latest, a text file naming the newest. */
#ifndef TP_BASE_RUN_FOLDER_H
#define TP_BASE_RUN_FOLDER_H

#include "host/base/err.h"

#define RUN_PATH 4096

/* Makes out/<stamp>, or out/<stamp>-2 and so on when another run began in the same second. */
enum err run_make(const char *out, char folder[RUN_PATH]);

/* Names `folder` in the file `latest` beside it. */
enum err run_latest(const char *folder);

/* The folder that `name` means: a run, a folder of runs or its file `latest` (then the newest), or
 * "latest" alone (output/latest) where no such file is. */
enum err run_find(const char *name, char folder[RUN_PATH]);

#endif
