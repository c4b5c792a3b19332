/* Traces to profile.json and report.html, and the one line that says most. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/run_folder.h"
#include "cli/cli.h"
#include "cli/runs/profile.h"
#include "cli/runs/record_json.h"
#include "base/timing/timing.h"
#include "profiler/findings/causes.h"
#include "profiler/findings/findings.h"
#include "profiler/findings/quiet.h"
#include "profiler/report/page/html.h"

#define GLOBS 64

static void draw_profile_progress(void *context, double done, double total)
{
    (void)context;
    progress("analysis, MB", done / 1e6, total / 1e6);
}

/* Splits a comma list in place; *copy is to be freed. */
static enum err split_globs(const char *list, const char *option, char **copy,
                            const char *out[GLOBS + 1])
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

static enum err facts_add(const void *facts, struct model *m)
{
    return record_facts_add(facts, m);
}

static enum err make_profile(const char *folder, struct analyze_options *options,
                             struct model **out)
{
    char path[RUN_PATH + 16];
    struct record_facts facts;
    enum err e = record_facts_read(folder, &facts);
    if (!e) {
        options->command = facts.command;
        options->cpus = facts.cpus;
        options->after_start = facts.paused;
        options->launch = (struct analyze_launch){.pid = facts.end.pid,
                                                  .own_user_s = facts.end.own_user_s,
                                                  .own_system_s = facts.end.own_system_s,
                                                  .all_s = facts.end.user_s + facts.end.system_s,
                                                  .fork_s = facts.prices.fork_s,
                                                  .load_s = facts.prices.load_s,
                                                  .start_s = facts.prices.start_s,
                                                  .signal_s = facts.prices.signal_s,
                                                  .left_running = facts.end.left_running};
        e = findings_of_run(folder, options, facts_add, &facts, out);
    }
    progress_end();
    record_facts_free(&facts);
    snprintf(path, sizeof path, "%s/profile.json", folder);
    if (!e)
        e = profile_write(*out, path);
    return e ? e : profile_causes(folder, *out);
}

enum err profile_causes(const char *folder, const struct model *m)
{
    int written;
    return causes_write(m, folder, &written);
}

enum err profile_make(const char *folder, const struct profile_options *o, struct model **out)
{
    const char *include[GLOBS + 1] = {0}, *exclude[GLOBS + 1] = {0};
    char *copies[2] = {0};
    struct analyze_options options = {.libraries = o->libraries,
                                      .absolute_paths = o->paths,
                                      .no_source = o->no_source,
                                      .from_s = o->from,
                                      .until_s = o->until,
                                      .after_imports = o->after_imports,
                                      .what_if = o->what_if,
                                      .just_ended = o->just_ended,
                                      .tool_version = TP_VERSION,
                                      .progress = draw_profile_progress};
    *out = NULL;
    enum err e = split_globs(o->include, "include", &copies[0], include);
    if (!e)
        e = split_globs(o->exclude, "exclude", &copies[1], exclude);
    options.include = o->include ? include : NULL;
    options.exclude = o->exclude ? exclude : NULL;
    if (!e)
        e = make_profile(folder, &options, out);
    if (e) {
        model_destroy(*out);
        *out = NULL;
    }
    free(copies[0]);
    free(copies[1]);
    return e;
}

void profile_top(const char *folder, const struct model *m, char top[256])
{
    char path[RUN_PATH + 16];
    struct timing_file *t = NULL;
    *top = 0;
    snprintf(path, sizeof path, "%s/timing.json", folder);
    if (!access(path, R_OK) && !timing_file_read(path, &t) && t)
        timing_headline(t, top);
    else if (m && m->headline)
        snprintf(top, 256, "%.255s", m->headline);
    timing_file_free(t);
}

enum err profile_page(const char *folder, char path[RUN_PATH + 16], long long *bytes)
{
    snprintf(path, RUN_PATH + 16, "%s/report.html", folder);
    return report_html(folder, path, bytes);
}

struct profile_request {
    const char *folder;
    const struct profile_options *options;
};

/* In the child: writes the top line to `fd`, before the page, which is the last thing that it
 * leaves; then, after a new line, the error's sentence. */
static int profile_in_child(void *context, int fd)
{
    const struct profile_request *r = context;
    const char *folder = r->folder;
    struct model *m = NULL;
    char text[256] = "";
    cli_signals_stop(0);
    char page[RUN_PATH + 16];
    enum err e = profile_make(folder, r->options, &m);
    if (!e)
        profile_top(folder, m, text);
    const struct model_item *busy = m ? quiet_busy(m) : NULL;
    if (busy)
        log_warn("%s", busy->text);
    int n = dprintf(fd, "%s\n", text);
    if (!e)
        e = profile_page(folder, page, NULL);
    if (e)
        n = dprintf(fd, "%s", err_text());
    return n < 0 ? 1 : (int)e;
}

/* Identifies the page: a new one is another file. 0: none. */
static ino_t page_of(const char *folder)
{
    char path[RUN_PATH + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/report.html", folder);
    return stat(path, &st) ? 0 : st.st_ino;
}

static enum err profile_child_end(int status, const char *text)
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

enum err profile_make_in_child(const char *folder, const struct profile_options *o, char top[256])
{
    char text[1024];
    struct child child;
    struct profile_request request = {folder, o};
    const ino_t before = page_of(folder);
    *top = 0;
    TRY(child_fork(&child, profile_in_child, &request));
    text[child_read(&child, text, sizeof text - 1, &cli_stop)] = 0;
    const int status = child_wait(&child);
    if (log_is_terminal()) /* what a killed child left of its progress line */
        fputs("\r\033[K", stderr);
    char *error = text + strcspn(text, "\n");
    if (*error)
        *error++ = 0;
    const int stopped = WIFSIGNALED(status) && cli_stop;
    if (!stopped || page_of(folder) == before) /* else the signal came after its last act */
        TRY(profile_child_end(status, error));
    snprintf(top, 256, "%.255s", text);
    return ERR_OK;
}

void profile_announce(const char *page, const char *note, const char *top)
{
    if (log_is_terminal()) {
        if (*top)
            log_verbatim("%s", top);
        log_page(page, note);
        return;
    }
    log_verbatim("tomoprof: %s%s%s%s", page, note, *top ? ": " : "", top);
}

int profile_open(const char *page)
{
    static const char script[] =
        "for o in xdg-open wslview open; do\n"
        "command -v $o >/dev/null && $o \"$0\" >/dev/null 2>&1 && exit; done; exit 1";
    const char *const words[] = {"sh", "-c", script, page, NULL};
    const struct child_program p = {.argv = words};
    enum child_end end;
    int status;
    return !child_run(&p, &end, &status) && end == CHILD_EXITED && !status;
}
