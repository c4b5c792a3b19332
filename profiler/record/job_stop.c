/* A stopped process cannot see that another one goes on, and a process may know nothing but the
 * program's own number when it sends SIGCONT. So a child watches both. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/record/job_stop.h"

#define WATCH_MS 20

/* Returns the letter that /proc shows for the process; 'X': there is none. Does not allocate. */
static char process_state(pid_t pid)
{
    char path[32], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    const char *name_end = n > 0 ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] == ' ' ? name_end[2] : 'X';
}

/* Runs in the child, in a process group of its own: neither the terminal's signals nor those to
 * the group reach it. Waits until the parent is stopped, so that its SIGCONT cannot come too
 * early. */
static void watch_both(pid_t parent, pid_t program)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        if (process_state(parent) == 'T' && process_state(program) != 'T')
            kill(parent, SIGCONT);
        poll(NULL, 0, WATCH_MS);
    }
    _exit(0);
}

void job_stop_with(pid_t program)
{
    pid_t self = getpid(), watcher = fork();
    if (watcher == 0)
        watch_both(self, program);
    if (watcher < 0)
        return;
    raise(SIGSTOP);
    kill(watcher, SIGKILL);
    while (waitpid(watcher, NULL, 0) < 0 && process_state(watcher) != 'X')
        continue;
    if (process_state(program) == 'T')
        kill(program, SIGCONT);
}
