/* Traces to profile.json and report.html, and the one line that says most. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/log.h"
#include "host/base/run_folder.h"
#include "host/cli/cli.h"
#include "host/cli/runs/profile.h"
#include "host/cli/runs/record_json.h"
#include "host/cli/runs/trace_folder.h"
#include "profiler/report/findings/findings.h"
#include "profiler/report/text/summary.h"
#include "profiler/report/page/html.h"

#define GLOBS 64

static void draw(void *context, double done, double total)
{
    (void)context;
    progress("analysis (MB)", done / 1e6, total / 1e6);
}

/* Splits a comma list in place; *copy is to be freed. */
static enum err globs(const char *list, const char *option, char **copy, const char *out[GLOBS + 1])
{
    int n = 0;
    char *rest;
    *copy = NULL;
    if (!list)
        return ERR_OK;
    *copy = strdup(list);
    FAIL_IF(!*copy, ERR_MEMORY, "no memory for --%s", option);
    for (char *word = strtok_r(*copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        FAIL_IF(n == GLOBS, ERR_USAGE, "--%s: more than %d patterns", option, GLOBS);
        out[n++] = word;
    }
    FAIL_IF(!n, ERR_USAGE, "--%s: the list is empty", option);
    return ERR_OK;
}

static enum err make(const char *folder, struct analyze_options *options, struct model **out)
{
    char path[RUN_PATH + 16];
    struct record_facts facts;
    enum err e = record_facts_read(folder, &facts);
    if (!e) {
        options->command = facts.command;
        e = analyze_run(folder, options, out);
    }
    if (!e)
        e = findings_add(*out);
    progress_end();
    if (!e)
        e = record_facts_add(&facts, *out);
    record_facts_free(&facts);
    snprintf(path, sizeof path, "%s/profile.json", folder);
    return e ? e : profile_write(*out, path);
}

enum err profile_make(const char *folder, const struct profile_options *o, struct model **out)
{
    const char *include[GLOBS + 1] = {0}, *exclude[GLOBS + 1] = {0};
    char *copies[2] = {0};
    struct analyze_options options = {.libraries = o->libraries,
                                      .absolute_paths = o->paths,
                                      .no_source = o->no_source,
                                      .tool_version = TP_VERSION,
                                      .progress = draw};
    *out = NULL;
    enum err e = globs(o->include, "include", &copies[0], include);
    if (!e)
        e = globs(o->exclude, "exclude", &copies[1], exclude);
    options.include = o->include ? include : NULL;
    options.exclude = o->exclude ? exclude : NULL;
    if (!e)
        e = make(folder, &options, out);
    if (e) {
        model_destroy(*out);
        *out = NULL;
    }
    free(copies[0]);
    free(copies[1]);
    return e;
}

/* Of the suite's traced pass: a line's CPU time inside of the operations, set-up left out. */
static double inside(const struct model *m, const struct model_line *line)
{
    double sum = 0;
    for (int i = 0; i < line->ranges_count; i++) {
        const struct model_range *r = &m->ranges[line->ranges[i].range];
        sum += r->name && tracing_is_operation(r->name) ? line->ranges[i].cpu_s : 0;
    }
    return sum;
}

static double inside_all(const struct model *m)
{
    double sum = 0;
    for (int i = 0; i < m->ranges_count; i++)
        if (m->ranges[i].name && tracing_is_operation(m->ranges[i].name) && m->ranges[i].cpu_s > 0)
            sum += m->ranges[i].cpu_s;
    return sum;
}

/* "load.py:7 waited 2.1 s of 4.2 s"; 0: the program worked, or no line is known to have waited. */
static int longest_wait(const struct model *m, char top[256])
{
    double most = 0.2 * m->meta.wall_s;
    *top = 0;
    for (int f = 0; f < m->files_count && summary_waits(m); f++)
        for (int l = 0; l < m->files[f].lines_count; l++) {
            const struct model_line *at = &m->files[f].lines[l];
            if (!(at->cpu.wait > most))
                continue;
            most = at->cpu.wait;
            snprintf(top, 256, "%s:%lld waited %.3g s, the run took %.3g s", m->files[f].path,
                     (long long)at->line, most, m->meta.wall_s);
        }
    return *top != 0;
}

/* "back_project (solver, without line tables: build with -g) took 96 % of the CPU time" */
static int hottest_function(const struct model *m, char top[256])
{
    struct summary_function *rows;
    size_t count;
    double cpu = m->totals.cpu.user + m->totals.cpu.sys;
    *top = 0;
    if (!summary_lacks_lines(m) || summary_functions(m, &rows, &count))
        return 0;
    if (count)
        snprintf(top, 256, "%.120s (%.60s) took %.0f %% of the CPU time; build with -g for lines",
                 rows[0].name, rows[0].module, 100 * rows[0].cpu_s / cpu);
    free(rows);
    return *top != 0;
}

void profile_top(const struct model *m, char top[256])
{
    if (longest_wait(m, top) || hottest_function(m, top))
        return;
    const struct model_line *line = NULL;
    const struct model_file *file = NULL;
    int gpu = m->totals.gpu_sum_s > 0;
    double most = 0, operations = gpu ? 0 : inside_all(m);
    for (int f = 0; f < m->files_count; f++)
        for (int l = 0; l < m->files[f].lines_count; l++) {
            const struct model_line *at = &m->files[f].lines[l];
            double cost = gpu              ? at->gpu_self_s
                          : operations > 0 ? inside(m, at)
                                           : at->cpu.user + at->cpu.sys;
            if (cost > most) {
                most = cost;
                line = at;
                file = &m->files[f];
            }
        }
    *top = 0;
    double total = gpu              ? m->totals.gpu_sum_s
                   : operations > 0 ? operations
                                    : m->totals.cpu.user + m->totals.cpu.sys;
    if (line && total > 0)
        snprintf(top, 256, "%s:%lld took %.0f %% of the %s time%s", file->path,
                 (long long)line->line, 100 * most / total, gpu ? "GPU" : "CPU",
                 operations > 0 ? " of the operations" : "");
}

enum err profile_page(const char *folder, char path[RUN_PATH + 16], long long *bytes)
{
    snprintf(path, RUN_PATH + 16, "%s/report.html", folder);
    return report_html(folder, path, bytes);
}

/* In the child: writes the top line or the error's sentence to `fd`. */
static void work(const char *folder, const struct profile_options *o, int fd)
{
    struct model *m = NULL;
    char text[1024] = "";
    cli_signals_end_at_once();
    char page[RUN_PATH + 16];
    enum err e = profile_make(folder, o, &m);
    if (!e)
        e = profile_page(folder, page, NULL);
    if (e)
        snprintf(text, sizeof text, "%s", err_text());
    else
        profile_top(m, text);
    ssize_t n = write(fd, text, strlen(text));
    _exit(n < 0 ? 1 : (int)e);
}

static enum err ended(int status, const char *text)
{
    if (WIFSIGNALED(status))
        return cli_stop
                   ? FAIL(ERR_INTERRUPTED, "the analysis was interrupted")
                   : FAIL(ERR_FAILED, "the analysis was ended by signal %d (%s)%s",
                          WTERMSIG(status), strsignal(WTERMSIG(status)),
                          WTERMSIG(status) == SIGKILL ? ", as the system does when memory runs out"
                                                      : "");
    int e = WEXITSTATUS(status);
    return e ? FAIL(e < ERR_COUNT ? (enum err)e : ERR_FAILED, "%s", text) : ERR_OK;
}

enum err profile_make_apart(const char *folder, const struct profile_options *o, char top[256])
{
    char text[1024];
    size_t used = 0;
    ssize_t n;
    int fds[2], status = 0;
    *top = 0;
    FAIL_IF(pipe(fds), ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        work(folder, o, fds[1]);
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return FAIL(ERR_FAILED, "cannot start a process: %s", strerror(errno));
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (cli_stop)
            kill(pid, SIGTERM);
        poll(NULL, 0, 10);
    }
    while (used < sizeof text - 1 && (n = read(fds[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = 0;
    close(fds[0]);
    if (log_is_terminal()) /* what a killed child left of its progress line */
        fputs("\r\033[K", stderr);
    TRY(ended(status, text));
    snprintf(top, 256, "%.255s", text);
    return ERR_OK;
}
