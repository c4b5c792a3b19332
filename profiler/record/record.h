/* Running a program with the capture library in it, and staying out of its way: its files,
 * terminal, signals and exit status are those of a bare run. */
#ifndef TP_RECORD_RECORD_H
#define TP_RECORD_RECORD_H

#include <stdint.h>

#include "host/base/run_folder.h"

struct record_target {
    char path[RUN_PATH];  /* what will be executed */
    char image[RUN_PATH]; /* the machine code in the end: of a script, its interpreter */
    int preload;          /* LD_PRELOAD does no harm here */
    char limits[512]; /* what of it will not be seen and why; "" nothing is known to be missed */
};
/* Looks at `program` as a shell would find it. ERR_INPUT when it cannot be executed. */
enum err record_target(const char *program, struct record_target *out);

/* The capture library beside `program` (this one, absolute) or in ../lib/tomoprof, in a form that
 * fits into LD_PRELOAD. */
enum err record_library(const char *program, char path[RUN_PATH]);

struct record_settings {
    const char *library, *folder; /* absolute; `folder` receives the trace files */
    const char *modes;            /* comma list, NULL: all */
    double rate_hz;               /* 0: the library's own */
    int preload;
};
/* The environment `base` with what the library needs, earlier preloads and injections kept.
 * malloc'ed, record_environment_free(). `note` says what could not be had, else "". */
enum err record_environment(const struct record_settings *s, char *const *base, char ***out,
                            char note[256]);
void record_environment_free(char **environment);

struct record_end {
    int exit_code, signal; /* signal 0: it exited */
    double wall_s, user_s, system_s;
    int64_t peak_rss_bytes;
    int pid, left_running; /* processes of it that live on */
};
/* Executes it, waits, and forwards signals meanwhile. `silent`: on /dev/null. */
enum err record_launch(const char *path, char *const *argv, char *const *environment, int silent,
                       struct record_end *out);

#endif
