/* The work of a command in a child process, and its answer through a pipe. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/store/exchange/sandbox.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/storage/apart.h"

struct answer { /* less than a pipe takes at once */
    enum err e;
    int exit_code;
    char text[1024];
};

static void answer(int fd, enum err (*work)(char **), char **word)
{
    struct answer a = {0};
    log_forked();
    sandbox_limit(mem_available());
    a.e = work(word);
    a.exit_code = cli_end.exit_code;
    snprintf(a.text, sizeof a.text, "%s", a.e ? err_text() : "");
    fflush(stdout);
    _exit(write(fd, &a, sizeof a) != sizeof a);
}

/* What a child that crashed had begun to write beside `out`. */
static void remove_begun(const char *out, pid_t child)
{
    char folder[4096];
    const char *slash = strrchr(out, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - out) + 1 : 1, slash ? out : ".");
    outfile_remove_begun(folder, slash ? slash + 1 : out, (long)child);
}

static enum err read_answer(int fd, char **word, const char *out, pid_t child)
{
    const char *path = word[0];
    struct answer a;
    int status = 0;
    ssize_t n;
    do
        n = read(fd, &a, sizeof a);
    while (n < 0 && errno == EINTR);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (n == sizeof a) {
        cli_end.exit_code = a.exit_code;
        a.text[sizeof a.text - 1] = 0;
        return a.e ? FAIL(a.e < ERR_COUNT ? a.e : ERR_INTERNAL, "%s", a.text) : ERR_OK;
    }
    if (out)
        remove_begun(out, child);
    if (WIFSIGNALED(status))
        return FAIL(ERR_INPUT, "%s: reading it ended with signal %d (%s): the file is damaged",
                    path, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return FAIL(ERR_INPUT, "%s: reading it gave no answer: the file is damaged", path);
}

enum err storage_apart(enum err (*work)(char **word), char **word, const char *out)
{
    int fds[2];
    if (file_is_own(word[0]))
        return work(word);
    FAIL_IF(pipe(fds), ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        answer(fds[1], work, word);
    }
    close(fds[1]);
    enum err e = child < 0 ? FAIL(ERR_FAILED, "cannot start a process: %s", strerror(errno))
                           : read_answer(fds[0], word, out, child);
    close(fds[0]);
    return e;
}
