/* Starts a child in a process group, reads its lines, ends it in time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "host/suite/run/process.h"

#define TICK_MS        100
#define LINE_MAX_BYTES 8192 /* a child's lines have some 600; longer ones are cut */

extern char **environ;

/* libgomp lets idle threads spin for about a millisecond before they sleep: ruinous beside other
 * work, where a spinning thread takes the processor from the thread that it waits for (MBIR of a
 * small case took 80 s instead of 1.1 s at a load of 10). 10,000 turns are some 30 us. It is read
 * before a program's main, hence here. */
static void shorten_spin(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", "10000", 0);
}

static enum err spawn(const struct child_process *p, int pipe_end, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int why = posix_spawn_file_actions_init(&files);
    if (why)
        return FAIL(ERR_FAILED, "cannot start a process: %s", strerror(why));
    if ((why = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&files);
        return FAIL(ERR_FAILED, "cannot start a process: %s", strerror(why));
    }
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, p->log_fd, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, pipe_end, PROCESS_FD);
    posix_spawnattr_setpgroup(&attributes, 0); /* Ctrl-C on the terminal reaches the parent alone */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    shorten_spin();
    why = posix_spawn(pid, p->argv[0], &files, &attributes, (char *const *)p->argv,
                      p->environment ? p->environment : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    FAIL_IF(why, ERR_FAILED, "cannot start a process of this program: %s", strerror(why));
    return ERR_OK;
}

struct answer_reader {
    char text[LINE_MAX_BYTES];
    size_t used;
};

/* Hands over the complete lines of what arrived. */
static void split(struct answer_reader *r, const struct child_process *p)
{
    char *start = r->text, *end;
    while ((end = memchr(start, '\n', r->used - (size_t)(start - r->text)))) {
        *end = 0;
        p->on_line(p->context, start);
        start = end + 1;
    }
    r->used -= (size_t)(start - r->text);
    memmove(r->text, start, r->used);
    if (r->used == sizeof r->text)
        r->used = 0;
}

/* Reads until the pipe ends (1) or the time is up or *stop is set (0). */
static int read_all(const struct child_process *p, int fd, int64_t deadline)
{
    struct answer_reader r = {.used = 0};
    for (;;) {
        struct pollfd ready = {fd, POLLIN, 0};
        int n = poll(&ready, 1, TICK_MS);
        if (p->on_tick)
            p->on_tick(p->context);
        if ((p->stop && *p->stop) || clock_ns() > deadline)
            return 0;
        if (n <= 0)
            continue;
        ssize_t got = read(fd, r.text + r.used, sizeof r.text - r.used);
        if (got == 0 || (got < 0 && errno != EINTR))
            return 1;
        if (got > 0) {
            r.used += (size_t)got;
            split(&r, p);
        }
    }
}

/* Waits for the end of a child whose pipe is closed; 0 when the time is up first. */
static int wait_until(const struct child_process *p, pid_t pid, int64_t deadline, int *status)
{
    while (waitpid(pid, status, WNOHANG) == 0) {
        if ((p->stop && *p->stop) || clock_ns() > deadline)
            return 0;
        poll(NULL, 0, 1);
    }
    return 1;
}

enum err process_run(const struct child_process *p, enum process_end *end, int *number)
{
    int fds[2], status = 0;
    pid_t pid;
    FAIL_IF(pipe2(fds, O_CLOEXEC), ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    int64_t deadline = clock_ns() + (int64_t)(p->timeout_s * 1e9);
    enum err e = spawn(p, fds[1], &pid);
    close(fds[1]);
    if (!e && read_all(p, fds[0], deadline) && wait_until(p, pid, deadline, &status)) {
        *end = WIFSIGNALED(status) ? PROCESS_SIGNALLED : PROCESS_EXITED;
        *number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    } else if (!e) {
        *end = p->stop && *p->stop ? PROCESS_STOPPED : PROCESS_TIMED_OUT;
        *number = SIGKILL;
        kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    if (!e && p->folder && *end != PROCESS_EXITED)
        outfile_remove_begun(p->folder, NULL, (long)pid);
    close(fds[0]);
    return e;
}
