/* The command `report`: a run's page, or its hotspots as text. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/profile.h"
#include "profiler/report/text/text.h"

static struct report_request {
    int text, sort, reanalyze, verbose;
    int shown; /* the answer is in the text that was printed */
    int64_t top;
    struct profile_options profile;
    const char *after, *what_if;
    struct what_if asked;
} request = {.top = 20};

static struct opt options[] = {
    OPTION_FLAG("text", 0, request.text,
                "print lines, functions, kernels and findings on stdout, as\n"
                "on a terminal without it"),
    OPTION_CHOICE("sort", 0, request.sort, "self|inclusive|calls",
                  "order of the tables of --text (default self)"),
    OPTION_INT("top", 'n', request.top, "N", "rows of each table (default 20)", 1, 1e6),
    OPTION_FLAG("verbose", 'v', request.verbose,
                "print notes on the data too that change no number of the tables"),
    OPTION_FLAG("reanalyze", 0, request.reanalyze, "analyse although there is a profile.json"),
    OPTION_TWIN("again", OPT_FLAG, request.reanalyze, NULL),
    OPTION_TEXT("after", 0, request.after, "imports",
                "leave out the start-up, up to the end of the imports"),
    OPTION_NUMBER("from", 0, request.profile.from, "SECONDS", "leave out the time before", 0, 1e9),
    OPTION_NUMBER("until", 0, request.profile.until, "SECONDS", "leave out the time after", 0, 1e9),
    OPTION_TEXT("what-if", 0, request.what_if, "FILE:LINE=0.5",
                "print what the program would take if this line, with what it\n"
                "calls, took 0.5 times as long"),
    PROFILE_OPTIONS(request.profile),
    {0},
};

static int is_file(const char *path, struct stat *st)
{
    return !stat(path, st) && S_ISREG(st->st_mode);
}

static int has_traces(const char *folder)
{
    char trace[RUN_PATH + 16];
    struct stat st;
    snprintf(trace, sizeof trace, "%s/trace", folder);
    return !stat(trace, &st);
}

static int is_part(void)
{
    return request.profile.from > 0 || request.profile.until > 0 || request.profile.after_imports;
}

static enum err check_report_part(void)
{
    FAIL_IF(request.after && strcmp(request.after, "imports"), ERR_USAGE,
            "--after %.40s: only \"imports\" is known; for a time use --from SECONDS",
            request.after);
    request.profile.after_imports = request.after != NULL;
    FAIL_IF(request.after && request.profile.from > 0, ERR_USAGE,
            "--after imports and --from SECONDS both say where to begin: give one of the two");
    FAIL_IF(request.profile.until > 0 && request.profile.until <= request.profile.from, ERR_USAGE,
            "--until %g: must be later than --from %g", request.profile.until,
            request.profile.from);
    return ERR_OK;
}

/* Reads FILE:LINE=FACTOR. */
static enum err check_what_if(void)
{
    static char file[RUN_PATH];
    if (!request.what_if)
        return ERR_OK;
    const char *equal = strrchr(request.what_if, '='), *colon = equal;
    while (colon && colon > request.what_if && *colon != ':')
        colon--;
    long long line = 0;
    double factor = -1;
    int end = 0;
    const int read = colon && sscanf(colon, ":%lld=%lf%n", &line, &factor, &end) == 2;
    FAIL_IF(!read || colon[end] || colon == request.what_if || line < 1 || !(factor >= 0) ||
                factor > 1e6 || (size_t)(colon - request.what_if) >= sizeof file,
            ERR_USAGE,
            "--what-if %.100s: expected a file, a line and its new time as a part of the old one, "
            "as in program.py:24=0.5",
            request.what_if);
    snprintf(file, sizeof file, "%.*s", (int)(colon - request.what_if), request.what_if);
    request.asked = (struct what_if){.file = file, .line = line, .factor = factor};
    request.profile.what_if = &request.asked;
    return ERR_OK;
}

static void print_what_if(const struct what_if *w)
{
    const double gain = 1 - w->after_s / w->before_s, saves = w->path_s * (1 - w->factor);
    plain_print(stdout,
                "If %s:%lld took %g times as long, the program would take %.3g s instead of %.3g s "
                "(%.0f %% %s).\n",
                w->file, (long long)w->line, w->factor, w->after_s, w->before_s, 100 * fabs(gain),
                gain < 0 ? "more" : "less");
    if (w->factor < 1)
        printf("The line takes %.3g s that the rest waits for, so this change saves at most about "
               "%.2g s.\n",
               w->path_s, saves);
}

/* A part of the run needs the recording itself. */
static enum err check_traces(const char *folder, int named)
{
    FAIL_IF((is_part() || request.what_if) && (named || !has_traces(folder)), ERR_INPUT,
            "%s: --after, --from, --until and --what-if read the recording again, but its trace "
            "folder is missing. "
            "Give the folder that `tomoprof record` wrote.",
            folder);
    return ERR_OK;
}

/* Nothing was recorded, or the analysis was written after it. */
static int up_to_date(const char *folder, const char *path)
{
    char trace[RUN_PATH + 16];
    struct stat profiled, traced;
    snprintf(trace, sizeof trace, "%s/trace", folder);
    if (!is_file(path, &profiled) || request.reanalyze || request.profile.include ||
        request.profile.exclude || request.profile.libraries || request.profile.paths ||
        request.profile.no_source || is_part() || request.what_if)
        return 0;
    return stat(trace, &traced) || traced.st_mtime <= profiled.st_mtime;
}

static enum err print_report(const struct model *m)
{
    struct winsize size = {0};
    int terminal = isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    if (terminal && log_colour())
        plain_stdout_styles();
    const struct text_view view = {.width = terminal ? size.ws_col > 0 ? size.ws_col : 80 : 0,
                                   .colour = terminal && log_colour(),
                                   .top = (int)request.top,
                                   .sort = (enum text_sort)request.sort,
                                   .verbose = request.verbose};
    TRY(report_text(m, stdout, &view));
    int notes = 0;
    for (int i = 0; i < m->quality.items_count; i++)
        notes += text_is_note(&m->quality.items[i]);
    if (notes && !request.verbose)
        plain_print(stdout, "  %d more note%s on the data: --verbose\n", notes,
                    notes == 1 ? "" : "s");
    return ERR_OK;
}

/* A suite without a traced pass: its times alone make a page. */
static int has_times_only(const char *folder)
{
    char path[RUN_PATH + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/trace", folder);
    if (!stat(path, &st))
        return 0;
    snprintf(path, sizeof path, "%s/profile.json", folder);
    if (is_file(path, &st))
        return 0;
    snprintf(path, sizeof path, "%s/timing.json", folder);
    return is_file(path, &st);
}

/* A run of `load` has its page, and neither lines nor functions. 1: it is one. */
static int is_load(const char *folder, enum err *e)
{
    char path[RUN_PATH + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/loading.html", folder);
    if (!is_file(path, &st))
        return 0;
    *e = request.text
             ? FAIL(ERR_INPUT,
                    "%s is a run of `tomoprof load`, which has no lines to print: its page "
                    "is %s",
                    folder, path)
             : ERR_OK;
    if (!*e)
        profile_announce(path, "", "");
    return 1;
}

/* Runs of before rootcause.md was written have none: an existing one keeps what `compare` measured.
 */
static enum err add_causes(const char *folder, const struct model *m)
{
    char path[RUN_PATH + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/rootcause.json", folder);
    return m && !is_file(path, &st) ? profile_causes(folder, m) : ERR_OK;
}

/* An earlier version's profile stays what it is, for a copy of its traces may tell less: keys that
 * are new become null. */
static enum err bring_up(const char *folder, const char *path, const struct model *m)
{
    log_info("tomoprof: %s: written by an earlier version; `tomoprof report %s --reanalyze` adds "
             "what this version records more",
             path, folder);
    return profile_write(m, path);
}

/* Writes the page and the headline. */
static enum err make_page(const char *folder, const struct model *m)
{
    char page[RUN_PATH + 16], line[256] = "";
    long long bytes;
    TRY(add_causes(folder, m));
    TRY(profile_page(folder, page, &bytes));
    profile_top(folder, m, line);
    char note[32];
    snprintf(note, sizeof note, " (%.2f MB)", (double)bytes * 1e-6);
    profile_announce(page, note, request.shown ? "" : line);
    return ERR_OK;
}

static enum err run_report(int words, char **word)
{
    char folder[RUN_PATH], path[RUN_PATH + 16];
    struct stat st;
    struct model *m = NULL;
    const char *name = words ? word[0] : "latest";
    TRY(check_report_part());
    TRY(check_what_if());
    TRY(run_find(name, folder));
    run_private();
    int named = is_file(name, &st) && text_has_suffix(name, ".json");
    TRY(check_traces(named ? name : folder, named));
    enum err of_load;
    if (!named && is_load(folder, &of_load))
        return of_load;
    if (!named && has_times_only(folder)) {
        FAIL_IF(request.text, ERR_INPUT,
                "%s was not traced, so it has no lines to print: `tomoprof info %s` "
                "prints its times",
                folder, folder);
        return make_page(folder, NULL);
    }
    snprintf(path, sizeof path, "%s/profile.json", folder);
    if (named)
        snprintf(path, sizeof path, "%s", name);
    int done = named || up_to_date(folder, path);
    enum err e = done ? profile_read(path, &m) : profile_make(folder, &request.profile, &m);
    int part = !e && done && isfinite(m->meta.from_s) && !m->meta.paused;
    if ((e || part) && done && !named && has_traces(folder)) { /* damaged, or a part */
        done = 0;
        model_destroy(m);
        m = NULL;
        e = profile_make(folder, &request.profile, &m);
    }
    if (!e && done && !named && m->earlier)
        e = bring_up(folder, path, m);
    if (e && done && !named &&
        !request.text) { /* of another version: the page copes, numbers are not read here */
        log_warn("%s", err_text());
        e = ERR_OK;
    }
    if (!e && m && request.what_if)
        print_what_if(&request.asked);
    request.shown = request.text || (isatty(STDOUT_FILENO) && m);
    if (!e && request.shown)
        e = print_report(m);
    if (!e && !named)
        e = make_page(folder, m);
    model_destroy(m);
    return e;
}

const struct command cmd_report = {
    .name = "report",
    .summary = "Makes report.html of a run, or prints its lines and functions.",
    .words = "[RUN]",
    .text =
        "RUN is a folder that record or run wrote, `latest` (the default), `previous`, or a\n"
        "profile.json (with --text). Analyses the traces where profile.json is missing or older\n"
        "than them, and writes report.html into the folder: one file that opens offline. --text\n"
        "prints its tables too. rootcause.md lists causes, their tests\n"
        "and actions where a finding has a test.\n\n"
        "Examples:\n"
        "  tomoprof report latest --text\n"
        "  tomoprof report latest --after imports\n"
        "  tomoprof report latest --what-if recon.py:24=0.5\n"
        "  tomoprof report previous --text --top 5 --include '*/myproject/*'\n",
    .options = options,
    .max_words = 1,
    .flags = CMD_REMAKES,
    .run = run_report,
};
