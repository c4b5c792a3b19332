/* A child process that answers in lines on a pipe. */
#ifndef TP_SUITE_RUN_PROCESS_H
#define TP_SUITE_RUN_PROCESS_H

#include "base/err.h"

#define PROCESS_FD 3 /* the child's end of the pipe */

struct child_process {
    const char *const *argv;  /* argv[0] is the program's path; ended by NULL */
    char *const *environment; /* NULL: this process's */
    int log_fd;               /* becomes the child's stderr; its stdin and stdout are /dev/null */
    double timeout_s;
    const char *folder;                         /* where it writes (optional) */
    const volatile int *stop;                   /* non-zero ends the child (optional) */
    void (*on_line)(void *context, char *line); /* each line without its end */
    void (*on_tick)(void *context);             /* about 10 times a second (optional) */
    void *context;
};

enum process_end { PROCESS_EXITED, PROCESS_SIGNALLED, PROCESS_TIMED_OUT, PROCESS_STOPPED };

/* Runs the child in a process group of its own, reads until the pipe ends, waits. The whole group
 * is killed at the timeout and on *stop. *number is the exit code (PROCESS_EXITED) or the signal.
 * What a child that a signal ended had begun to write in `folder` is removed. */
enum err process_run(const struct child_process *p, enum process_end *end, int *number);

#endif
