/* The work of a command in a child process, and its answer through a pipe. */
#include <stdlib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/text.h"
#include "base/jail/jail.h"
#include "host/store/exchange/sandbox.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/storage/sandbox.h"

struct answer { /* less than a pipe takes at once */
    enum err e;
    int exit_code;
    char text[1024];
};

struct sandbox_work {
    enum err (*work)(char **word);
    char **word;
};

static int sandbox_answer(void *context, int fd)
{
    const struct sandbox_work *w = context;
    struct answer a = {0};
    jail_limit(mem_available());
    a.e = w->work(w->word);
    a.exit_code = cli_end.exit_code;
    snprintf(a.text, sizeof a.text, "%s", a.e ? err_text() : "");
    fflush(stdout);
    return !child_write(fd, &a, sizeof a);
}

/* Removes the files that a crashed child had begun to write beside `out`. */
static void remove_begun(const char *out, pid_t child)
{
    char folder[4096];
    path_folder(out, folder, sizeof folder);
    outfile_remove_begun(folder, base_name(out), (long)child);
}

static enum err read_answer(struct child *c, const char *path, const char *out)
{
    struct answer a;
    const size_t n = child_read(c, &a, sizeof a, NULL);
    const int status = child_wait(c);
    if (n == sizeof a) {
        cli_end.exit_code = a.exit_code;
        a.text[sizeof a.text - 1] = 0;
        return a.e ? FAIL(a.e < ERR_COUNT ? a.e : ERR_INTERNAL, "%s", a.text) : ERR_OK;
    }
    if (out)
        remove_begun(out, c->pid);
    if (WIFSIGNALED(status))
        return FAIL(ERR_INPUT, "%s: reading it ended with signal %d (%s): the file is damaged",
                    path, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return FAIL(ERR_INPUT, "%s: reading it gave no answer: the file is damaged", path);
}

enum err storage_sandboxed(enum err (*work)(char **word), char **word, int inputs, const char *out)
{
    struct child child;
    struct sandbox_work w = {work, word};
    int other = 0;
    while (other < inputs && file_is_own(word[other]))
        other++;
    if (other == inputs)
        return work(word);
    TRY(child_fork(&child, sandbox_answer, &w));
    return read_answer(&child, word[other], out);
}

int storage_numbers(const char *text, long long least, long long most, int64_t out[STORE_DIMS],
                    int *count)
{
    *count = 0;
    for (char *end; text && *text; text = *end ? end + 1 : end) {
        const long long n = strtoll(text, &end, 10);
        if (end == text || (*end && *end != ',') || n < least || n > most || *count == STORE_DIMS)
            return 0;
        out[(*count)++] = n;
    }
    return 1;
}
