/* `tomoprof try`: the program as it is and with functions replaced, both recorded, and what is
 * between the two. */
#ifndef TP_CLI_TRIAL_TRIAL_H
#define TP_CLI_TRIAL_TRIAL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/run_folder.h"
#include "cli/trial/trial_fields.h"

enum { TRIAL_STAGES = 16 };

/* Describes one run of the program. */
struct trial_stage {
    const char *name;         /* of its folder: before, check, after, after-2 ... */
    const char *only;         /* comma list of what is replaced; "": all, NULL: nothing */
    char folder[RUN_PATH];    /* the run; stdout, stderr and what the program left of its calls */
    double wall_s;            /* of the program alone; so are the others */
    int64_t peak_rss_bytes;   /* 0 unknown */
    int exit_code, signal;    /* signal 0: it exited */
    int started;              /* a Python with the import hook began */
    const char *failed;       /* why the hook could replace nothing; NULL: it could */
    struct trial_call *calls; /* by module, name, file and line; times of processes added */
    int calls_count;
    const char **notes;
    int notes_count;
};

struct try_job {
    char folder[RUN_PATH];                  /* of all of it */
    char **command;                         /* ended by NULL */
    const char *from;                       /* folder to run it in; NULL: this one */
    int checks;                             /* calls from each line that are computed twice */
    struct trial_stage stage[TRIAL_STAGES]; /* the program as it is first */
    int stages;
    struct arena *arena;
};

/* Finds what the import hook needs beside this program. */
enum err trial_hook(char package[RUN_PATH]);

/* Runs the program once: `recorded`, or bare. ERR_FAILED where it cannot be started,
 * ERR_INTERRUPTED. */
enum err trial_run(struct try_job *t, struct trial_stage *s, const char *package, int recorded);

/* Writes DIR/try.diff: imports of the replaced modules in the sources `files` that called them, changed
 * to ours. *changes: lines of it, 0: there is none to change, and no file. `root`: where `git apply`
 * is run, for the first file; files elsewhere are left. */
enum err trial_patch(const struct try_job *t, const char *const *files, int count,
                     char root[RUN_PATH], int *changes);

/* Returns seconds of the run's wall time in which an own line was at work or waited; NaN unknown. */
struct model;
double trial_line_s(const struct model *m, const char *file, int64_t line);

/* Fills the file of results: times of lines from both profiles, the sentence, the patch and the page.
 * Stage 0 is the program as it is; `check` and `after` are NULL where nothing was replaced. */
enum err trial_result(struct try_job *t, const struct trial_stage *check,
                      const struct trial_stage *after, struct trial_file *out);
/* Writes DIR/try.json. */
enum err trial_result_write(const struct try_job *t, const struct trial_file *r);
/* Prints the sentence and the tables. */
void trial_result_print(const struct try_job *t, const struct trial_file *r);

/* Compares what two stages printed. `text`: "" where it is the same, else the first line that is
 * changed, missing or new, and how many are. */
enum err trial_output(const struct trial_stage *a, const struct trial_stage *b, char text[400]);

#endif
