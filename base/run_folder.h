/* Folders of runs: OUT/<UTC stamp>/, and OUT/latest: a relative symbolic link to the newest, or a
 * text file that names it where links cannot be made. */
#ifndef TP_BASE_RUN_FOLDER_H
#define TP_BASE_RUN_FOLDER_H

#include <sys/types.h>

#include "base/array.h"
#include "base/err.h"

#define RUN_PATH 4096

/* Returns where runs go without --out: $TOMOPROF_RUNS, else tomoprof-runs. */
const char *run_default_folder(void);

/* Makes out/<stamp>, or out/<stamp>-2 and so on when another run began in the same second. */
enum err run_make(const char *out, char folder[RUN_PATH]);

/* Returns the mode of a run's folders: 0700. Those whom the umask lets write may enter too: 022
 * gives 0700, 002 gives 0770. Not while threads make files. */
mode_t run_mode(void);
/* From here on this process makes all files with that rule: 0600, or 0660. */
void run_private(void);

/* Makes `latest` beside `folder` lead to it. */
enum err run_latest(const char *folder);

/* Finds the folder that `name` means: a run, a folder of runs or its `latest` (then the newest). Where
 * no such file is, "latest" and "previous" are the newest runs that were made from the current
 * folder; where none is remembered (another machine or a container made them), "latest" is that of
 * the default folder. ERR_INPUT where `latest` leads out of its folder. */
enum err run_find(const char *name, char folder[RUN_PATH]);

/* 1: `name` is a file, and not a `latest` that names a run. */
int run_is_file(const char *name);

/* Runs that this user made, wherever they lie: $XDG_STATE_HOME/tomoprof/runs, or
 * ~/.local/state/tomoprof/runs. A line is the folder where the command was given, a tab, and the
 * run's folder; both absolute. run_latest adds one. */

struct run_entry {
    const char *from, *folder;
};

struct run_list {
    VECTOR(struct run_entry) runs; /* newest first, each once, those that are still there */
    char *text;
};

/* Adds a run. Where that cannot be written nothing is remembered, which the log says at its level
 * debug: the run itself is whole. */
void run_list_add(const char *folder);
/* Empty where nothing is remembered. */
enum err run_list_read(struct run_list *out);
void run_list_free(struct run_list *l);

/* The run that is `back` runs older than the newest, of those that were made from the current folder
 * (`here`) or of all. NULL: there are not so many. */
const struct run_entry *run_list_back(const struct run_list *l, size_t back, int here);

#endif
