/* Records a running process from outside: nothing is loaded into it. A thread that runs is stopped
 * for a moment (ptrace) and its stack read through the kernel; one that waits is not touched. What
 * only the capture library can see is missing: allocations, copies, GPU work, NVTX ranges, child
 * processes. */
#ifndef TP_OUTSIDE_OUTSIDE_H
#define TP_OUTSIDE_OUTSIDE_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* States in one sentence, for the user and the profile, what is missing. */
extern const char outside_limits[];

/* ERR_INPUT: no process has this number. ERR_UNSUPPORTED: it may not be looked at, and what to do.
 */
enum err outside_check(pid_t pid);

/* Its command line without secrets, ended by NULL; malloc'ed in one piece. NULL: it cannot be read. */
char **outside_command(pid_t pid);

/* Writes what a thread does at this moment, as a verb: "waits for input (read of descriptor 0,
 * /dev/pts/1)". 0: it is gone. */
#define OUTSIDE_STATE 320
int outside_state(pid_t pid, pid_t tid, char out[OUTSIDE_STATE]);

struct outside_settings {
    pid_t pid;
    double seconds, rate_hz; /* 0: until it ends; 100 */
    const char *folder;      /* absolute; receives the trace file */
    const volatile sig_atomic_t *stop;
    void (*begun)(const struct outside_settings *); /* from now on it is recorded; NULL none */
};
struct outside_end {
    double wall_s, user_s, system_s; /* of the process while it was recorded */
    int64_t peak_rss_bytes;
    int still_runs;
};
enum err outside_record(const struct outside_settings *s, struct outside_end *out);

#endif
