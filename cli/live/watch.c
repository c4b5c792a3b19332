/* Records a running process for one interval after the other. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/live/live.h"
#include "cli/runs/run_files.h"
#include "profiler/analyze/analyze.h"

/* A child writes this first, and the sentence of an error after it. */
struct take_head {
    enum err error;
    struct outside_end end;
};

struct take_order {
    const struct watch *w;
    const char *folder;
};

static enum err take_record(const struct take_order *o, struct outside_end *end)
{
    char trace[TRACING_PATH];
    const struct outside_settings settings = {.pid = o->w->pid,
                                              .seconds = o->w->interval_s,
                                              .rate_hz = o->w->rate_hz,
                                              .folder = trace,
                                              .stop = &cli_stop};
    TRY(dir_make(o->folder));
    TRY(tracing_folder(o->folder, trace));
    return outside_record(&settings, end);
}

static enum err take_analyse(const struct take_order *o)
{
    char path[WATCH_PATH + 16];
    struct model *m;
    const struct analyze_options how = {.tool_version = TP_VERSION,
                                        .command = (const char *const *)o->w->command};
    TRY(analyze_run(o->folder, &how, &m));
    text_print(path, sizeof path, "%s/profile.json", o->folder);
    const enum err e = profile_write(m, path);
    model_destroy(m);
    return e;
}

/* Runs in the child. The analysis does not take the target's CPU time where another waits for it. */
static int take_work(void *context, int fd)
{
    const struct take_order *o = context;
    struct take_head head = {0};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    head.error = take_record(o, &head.end);
    if (!child_write(fd, &head, sizeof head))
        return 1;
    enum err e = head.error;
    if (!e) {
        cli_signals_stop(0);
        (void)!nice(10);
        e = cli_stop ? FAIL(ERR_INTERRUPTED, "interrupted") : take_analyse(o);
    }
    if (e)
        (void)child_write(fd, err_text(), strlen(err_text()));
    return (int)e;
}

enum err watch_begin(struct watch *w, pid_t pid)
{
    w->pid = pid;
    TRY(outside_check(pid));
    w->command = outside_command(pid);
    FAIL_IF(!w->command, ERR_MEMORY, "no memory for the command line of process %d", (int)pid);
    text_print(w->folder, sizeof w->folder, "/tmp/tomoprof-top-XXXXXX");
    if (!mkdtemp(w->folder)) {
        *w->folder = 0;
        return FAIL(ERR_IO, "/tmp: cannot make a folder: %s", strerror(errno));
    }
    for (int i = 0; i < WATCH_CHILDREN; i++)
        text_print(w->take[i].folder, WATCH_PATH, "%s/%d", w->folder, i);
    return ERR_OK;
}

enum err watch_start(struct watch *w)
{
    struct watch_take *idle = NULL;
    for (int i = 0; i < WATCH_CHILDREN; i++) {
        if (w->take[i].child.pid && !w->take[i].recorded)
            return ERR_OK;
        idle = w->take[i].child.pid ? idle : &w->take[i];
    }
    if (!idle || w->ended)
        return ERR_OK;
    struct take_order order = {w, idle->folder};
    idle->recorded = 0;
    return child_fork(&idle->child, take_work, &order);
}

void watch_files(const struct watch *w, struct pollfd files[WATCH_CHILDREN])
{
    for (int i = 0; i < WATCH_CHILDREN; i++)
        files[i] = (struct pollfd){w->take[i].child.pid ? w->take[i].child.fd : -1, POLLIN, 0};
}

static int process_is_gone(pid_t pid)
{
    char state[OUTSIDE_STATE];
    return !outside_state(pid, pid, state) || !strcmp(state, "has ended");
}

/* Takes the model of a child that has closed its pipe. */
static enum err take_finish(struct watch *w, struct watch_take *k, const char *sentence,
                            struct model **m)
{
    char path[WATCH_PATH + 16];
    const int status = child_wait(&k->child);
    k->child.pid = 0;
    enum err e = WIFEXITED(status) ? (enum err)WEXITSTATUS(status) : ERR_FAILED;
    text_print(path, sizeof path, "%s/profile.json", k->folder);
    if (!e)
        e = profile_read(path, m);
    else if (process_is_gone(w->pid)) /* it ended between two intervals, or left an empty trace */
        w->ended = 1, e = ERR_OK;
    else
        e = FAIL(e < ERR_COUNT ? e : ERR_FAILED, "%s",
                 *sentence ? sentence : "the analysis of an interval was ended by a signal");
    dir_remove(k->folder);
    return e;
}

enum err watch_read(struct watch *w, const struct pollfd files[WATCH_CHILDREN], struct model **m,
                    double *seconds)
{
    *m = NULL;
    for (int i = 0; i < WATCH_CHILDREN && !*m; i++) {
        struct watch_take *k = &w->take[i];
        struct take_head head;
        char sentence[1024];
        if (!k->child.pid || files[i].fd != k->child.fd || !files[i].revents)
            continue;
        if (!k->recorded && child_read(&k->child, &head, sizeof head, NULL) == sizeof head) {
            k->recorded = 1;
            k->end = head.end;
            w->ended |= !head.error && !head.end.still_runs;
            continue;
        }
        sentence[child_read(&k->child, sentence, sizeof sentence - 1, NULL)] = 0;
        *seconds = k->end.wall_s;
        TRY(take_finish(w, k, sentence, m));
    }
    return ERR_OK;
}

int watch_is_busy(const struct watch *w)
{
    for (int i = 0; i < WATCH_CHILDREN; i++)
        if (w->take[i].child.pid)
            return 1;
    return 0;
}

void watch_end(struct watch *w)
{
    for (int i = 0; i < WATCH_CHILDREN; i++)
        if (w->take[i].child.pid) {
            kill(w->take[i].child.pid, SIGTERM);
            child_wait(&w->take[i].child);
        }
    if (*w->folder)
        dir_remove(w->folder);
    free(w->command);
}
