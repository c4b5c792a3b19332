/* Child processes with a pipe to this one: a function of this program, or another program. */
#ifndef TP_BASE_CHILD_H
#define TP_BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct child {
    pid_t pid;
    int fd;   /* reads what the child writes */
    int life; /* of child_fork_both: the child ends where no process has it open */
};

/* Runs `work` in a copy of this process, with `fd` the pipe's end to write to. What it returns is
 * the exit code: no handler of exit() runs, and no buffer of stdio is flushed. */
enum err child_fork(struct child *c, int (*work)(void *context, int fd), void *context);

/* The same for a helper that stays: `fd` is a socket, on which both sides read and write, and the
 * child keeps no other descriptor open but the standard ones. It ends by SIGIO when this process has
 * ended or closed c->life, whatever it does then; unlike PR_SET_PDEATHSIG, not with the thread that
 * started it. */
enum err child_fork_both(struct child *c, int (*work)(void *context, int fd), void *context);

/* Reads until `bytes` are there or the pipe ends; returns how many there are. While *stop (may be
 * NULL) is set, the child gets SIGTERM 100 times a second. */
size_t child_read(const struct child *c, void *data, size_t bytes, const volatile int *stop);

/* Closes the pipe, waits, and returns waitpid's status. A child that still writes gets SIGPIPE. */
int child_wait(struct child *c);

/* In the child: writes all of it. 0: nobody reads any more. */
int child_write(int fd, const void *data, size_t bytes);

#define CHILD_FD 3 /* a program's end of the pipe */

struct child_program {
    const char *const *argv;  /* argv[0] is looked up in PATH unless it has a slash; ends by NULL */
    char *const *environment; /* NULL: this process's */
    int output_fd, log_fd;    /* become stdout and stderr; 0: /dev/null, which is stdin always */
    int own_group;            /* signals of the terminal reach this process alone */
    double timeout_s;         /* 0: none */
    const char *folder;       /* where it writes (optional) */
    const volatile int *stop; /* non-zero ends the child (optional) */
    void (*on_line)(void *context, char *line); /* each line on CHILD_FD, without its end */
    void (*on_tick)(void *context);             /* about 10 times a second (optional) */
    void *context;
};

enum child_end { CHILD_EXITED, CHILD_SIGNALLED, CHILD_TIMED_OUT, CHILD_STOPPED };

/* Runs a program, reads until the pipe ends, waits. It is killed at the timeout and on *stop, with
 * its group where it has its own. *number is the exit code (CHILD_EXITED; 127: the program
 * is not there) or the signal. What a child that a signal ended had begun to write in `folder` is
 * removed. */
enum err child_run(const struct child_program *p, enum child_end *end, int *number);

/* Returns 1 where the user's PATH has a program of that name. */
int in_path(const char *name);

#endif
