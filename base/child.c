/* Starts children, reads what they write, ends them in time, and waits for them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/run_folder.h"

#define STOP_MS        10
#define TICK_MS        100
#define LINE_MAX_BYTES 8192 /* a child's lines have some 600; longer ones are cut */

extern char **environ;

static void descriptors_close(int from, int to)
{
    from = from < 3 ? 3 : from;
    if (from > to)
        return;
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, from, to, 0))
        return;
#endif
    const long most = sysconf(_SC_OPEN_MAX);
    for (int fd = from; fd <= to && fd < most; fd++)
        close(fd);
}

/* In the child: a pipe of this process that is read by none would else wait for its end. */
static void helper_begin(int fd, int life)
{
    const int low = fd < life ? fd : life, high = fd < life ? life : fd;
    sigset_t io;
    sigemptyset(&io);
    sigaddset(&io, SIGIO);
    signal(SIGIO, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &io, NULL);
    fcntl(life, F_SETOWN, getpid());
    fcntl(life, F_SETFL, O_ASYNC);
    descriptors_close(0, low - 1);
    descriptors_close(low + 1, high - 1);
    descriptors_close(high + 1, INT_MAX);
}

/* Takes over both ends, of which the second is the child's. `life`: NULL, or a pipe of which the
 * child reads. */
static enum err child_fork_with(struct child *c, const int fds[2], const int *life,
                                int (*work)(void *context, int fd), void *context)
{
    fflush(stdout); /* or both would print what is in it */
    const pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        log_forked();
        if (life)
            helper_begin(fds[1], life[0]);
        _exit(work(context, fds[1]));
    }
    const int why = errno;
    close(fds[1]);
    if (life)
        close(life[0]);
    if (pid < 0) {
        close(fds[0]);
        if (life)
            close(life[1]);
    }
    FAIL_IF(pid < 0, ERR_FAILED, "cannot start a process: %s", strerror(why));
    *c = (struct child){pid, fds[0], life ? life[1] : -1};
    return ERR_OK;
}

enum err child_fork(struct child *c, int (*work)(void *context, int fd), void *context)
{
    int fds[2];
    FAIL_IF(pipe2(fds, O_CLOEXEC), ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    return child_fork_with(c, fds, NULL, work, context);
}

enum err child_fork_both(struct child *c, int (*work)(void *context, int fd), void *context)
{
    int fds[2], life[2];
    FAIL_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ERR_FAILED,
            "cannot make a pair of sockets: %s", strerror(errno));
    if (pipe2(life, O_CLOEXEC)) {
        const int why = errno;
        close(fds[0]);
        close(fds[1]);
        return FAIL(ERR_FAILED, "cannot make a pipe: %s", strerror(why));
    }
    return child_fork_with(c, fds, life, work, context);
}

size_t child_read(const struct child *c, void *data, size_t bytes, const volatile int *stop)
{
    size_t got = 0;
    while (got < bytes) {
        struct pollfd ready = {c->fd, POLLIN, 0};
        if (stop && *stop)
            kill(c->pid, SIGTERM);
        if (stop && poll(&ready, 1, STOP_MS) <= 0)
            continue;
        const ssize_t n = read(c->fd, (char *)data + got, bytes - got);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    return got;
}

static int child_wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int child_wait(struct child *c)
{
    close(c->fd);
    return child_wait_for(c->pid);
}

int child_write(int fd, const void *data, size_t bytes)
{
    while (bytes) {
        const ssize_t n = write(fd, data, bytes);
        if (n == 0 || (n < 0 && errno != EINTR))
            return 0;
        data = (const char *)data + (n > 0 ? n : 0);
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return 1;
}

/* Returns errno's number, 0 for none. */
static int program_spawn(const struct child_program *p, int pipe_end, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int why = posix_spawn_file_actions_init(&files);
    if (why)
        return why;
    if ((why = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&files);
        return why;
    }
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (p->output_fd)
        posix_spawn_file_actions_adddup2(&files, p->output_fd, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (p->log_fd)
        posix_spawn_file_actions_adddup2(&files, p->log_fd, STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (pipe_end >= 0)
        posix_spawn_file_actions_adddup2(&files, pipe_end, CHILD_FD);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, p->own_group ? POSIX_SPAWN_SETPGROUP : 0);
    why = posix_spawnp(pid, p->argv[0], &files, &attributes, (char *const *)p->argv,
                       p->environment ? p->environment : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return why;
}

struct child_lines {
    char text[LINE_MAX_BYTES];
    size_t used;
};

/* Hands over the complete lines of what arrived. */
static void lines_split(struct child_lines *r, const struct child_program *p)
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

static int child_is_over(const struct child_program *p, int64_t deadline)
{
    return (p->stop && *p->stop) || clock_ns() > deadline;
}

/* Reads until the pipe ends (1) or the time is up or *stop is set (0). */
static int lines_read(const struct child_program *p, int fd, int64_t deadline)
{
    struct child_lines r = {.used = 0};
    for (;;) {
        struct pollfd ready = {fd, POLLIN, 0};
        int n = poll(&ready, 1, TICK_MS);
        if (p->on_tick)
            p->on_tick(p->context);
        if (child_is_over(p, deadline))
            return 0;
        if (n <= 0)
            continue;
        ssize_t got = read(fd, r.text + r.used, sizeof r.text - r.used);
        if (got == 0 || (got < 0 && errno != EINTR))
            return 1;
        if (got > 0) {
            r.used += (size_t)got;
            lines_split(&r, p);
        }
    }
}

/* Waits for the end of a child whose pipe is closed; 0 when the time is up first. */
static int wait_until(const struct child_program *p, pid_t pid, int64_t deadline, int *status)
{
    if (!p->stop && !p->timeout_s) {
        *status = child_wait_for(pid);
        return 1;
    }
    while (waitpid(pid, status, WNOHANG) == 0) {
        if (child_is_over(p, deadline))
            return 0;
        poll(NULL, 0, 1);
    }
    return 1;
}

static void program_watch(const struct child_program *p, pid_t pid, int fd, enum child_end *end,
                          int *number)
{
    const int64_t deadline =
        p->timeout_s > 0 ? clock_ns() + (int64_t)(p->timeout_s * 1e9) : INT64_MAX;
    int status = 0;
    if ((fd < 0 || lines_read(p, fd, deadline)) && wait_until(p, pid, deadline, &status)) {
        *end = WIFSIGNALED(status) ? CHILD_SIGNALLED : CHILD_EXITED;
        *number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    } else {
        *end = p->stop && *p->stop ? CHILD_STOPPED : CHILD_TIMED_OUT;
        *number = SIGKILL;
        kill(p->own_group ? -pid : pid, SIGKILL);
        child_wait_for(pid);
    }
    if (p->folder && *end != CHILD_EXITED)
        outfile_remove_begun(p->folder, NULL, (long)pid);
}

enum err child_run(const struct child_program *p, enum child_end *end, int *number)
{
    int fds[2] = {-1, -1};
    pid_t pid;
    FAIL_IF(p->on_line && pipe2(fds, O_CLOEXEC), ERR_FAILED, "cannot make a pipe: %s",
            strerror(errno));
    const int why = program_spawn(p, fds[1], &pid);
    if (p->on_line)
        close(fds[1]);
    if (!why)
        program_watch(p, pid, fds[0], end, number);
    if (p->on_line)
        close(fds[0]);
    *end = why ? CHILD_EXITED : *end;
    *number = why ? 127 : *number;
    FAIL_IF(why && why != ENOENT, ERR_FAILED, "cannot start %s: %s", p->argv[0], strerror(why));
    return ERR_OK;
}

/* Looks as a shell does. */
int in_path(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        char file[RUN_PATH];
        size_t n = strcspn(at, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, at, name);
        if (n && !access(file, X_OK))
            return 1;
        at += n + (at[n] == ':');
    }
    return 0;
}
