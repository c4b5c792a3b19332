/* The command `record`: starts a program under the capture library and profiles what it left. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/run_folder.h"
#include "base/text.h"
#include "base/err.h"
#include "host/backend/cpu_name.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/runs/job.h"
#include "cli/runs/priced.h"
#include "cli/runs/profile.h"
#include "cli/runs/record_json.h"
#include "cli/runs/record_modes.h"
#include "cli/runs/run_files.h"
#include "cli/runs/timed.h"
#include "cli/runs/with_tool.h"
#include "profiler/outside/outside.h"
#include "profiler/record/record.h"
#include "profiler/report/compare/compare.h"

extern char **environ;

static struct record_request {
    const char *modes, *with, *out, *against, *period;
    double rate, seconds;
    int64_t pid;
    int runs, warmup; /* runs 0: not timed */
    int paused, open;
    int overhead, no_analysis, whole_graphs, kernel_lines;
    struct profile_options profile;
} request = {.warmup = 1};

static struct opt options[] = {
    OPTION_TEXT("modes", 'm', request.modes, "A,B,...",
                "record only these of cpu, wait, memory, copies, io, locks, python,\nnvtx, cuda "
                "(default: all these), objects (small Python objects by\nline; slower)"),
    OPTION_CHOICE("graphs", 0, request.whole_graphs, "nodes|whole",
                  "CUDA graphs: record their kernels and copies (default), or only how\nlong each "
                  "launch took, which costs less"),
    OPTION_FLAG("kernel-lines", 0, request.kernel_lines,
                "CUDA: also sample which lines inside kernels take the time, and why\nwarps wait "
                "there; needs the GPU's counters (see doctor)"),
    OPTION_NUMBER("rate", 'r', request.rate, "HZ",
                  "samples per second of CPU time of each thread (default 100)", 1, 10000),
    OPTION_PLACE("out", 'o', request.out, "DIR",
                 "the run is written to DIR/<UTC stamp>/ (default tomoprof-runs)"),
    OPTION_INT(
        "pid", 'p', request.pid, "PID",
        "sample this running process from outside: CPU time and waiting only;\nthe process goes on",
        1, INT32_MAX),
    OPTION_NUMBER("seconds", 's', request.seconds, "N",
                  "end the recording after N seconds, not the program", 0.1, 1e7),
    OPTION_TEXT("for", 0, request.period, "10s|5m|1h", "the same with a unit"),
    OPTION_FLAG("paused", 0, request.paused,
                "the profile begins with the program's first region, or its call of\n"
                "tomoprof.start()"),
    OPTION_INT("runs", 0, request.runs, "N",
               "first time N runs of CMD, silent and without the recorder: mean,\nstandard "
               "deviation, and the noise that `compare` judges by",
               1, TIMED_RUNS_MOST),
    OPTION_INT("warmup", 0, request.warmup, "N",
               "runs before those, which do not count (default 1)", 0, TIMED_RUNS_MOST),
    OPTION_TEXT(
        "against", 0, request.against, "'OTHER CMD'",
        "time OTHER CMD too, in turns with CMD, record both and compare\nOTHER CMD (A) with "
        "CMD (B); 5 runs without --runs"),
    OPTION_FLAG("measure-overhead", 0, request.overhead,
                "first run CMD once without the recorder and silent, to\nmeasure the slow-down"),
    OPTION_FLAG("baseline", 'b', request.overhead, NULL),
    OPTION_TEXT("with", 0, request.with, "perf|nsys|ncu",
                "afterwards run CMD once more, silent, under that tool;\nboth in one report"),
    OPTION_FLAG("open", 0, request.open, "open the page in the browser"),
    OPTION_FLAG("no-analysis", 0, request.no_analysis,
                "record only; `tomoprof report RUN` analyses later"),
    PROFILE_OPTIONS(request.profile),
    {0},
};

struct record_session {
    char folder[RUN_PATH], trace[TRACING_PATH], library[RUN_PATH], mpi[RUN_PATH];
    struct record_settings settings;
    struct record_job job; /* size 0: this process alone */
    struct record_target target;
    struct record_end bare, end;
    struct record_end *timed; /* [request.runs] */
    int silent;
    struct record_disks disks;
    struct record_clocks clocks;
    struct record_prices prices;
    int given;  /* the folder: no latest leads to it */
    int looked; /* at both */
    char note[256];
    char **word; /* the command */
};

/* That this process may use, and what it starts. */
static int record_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
}

static enum err write_record_facts(struct record_session *s, const struct record_end *end)
{
    char *notes[3] = {NULL}, **note = notes, cpu[CPU_NAME];
    cpu_name(cpu);
    if (*s->target.limits)
        *note++ = s->target.limits;
    if (*s->note)
        *note++ = s->note;
    const struct record_facts facts = {.command = (const char **)s->word,
                                       .notes = notes,
                                       .end = *end,
                                       .bare = s->bare,
                                       .paused = request.paused,
                                       .timed = s->timed,
                                       .timed_count = s->timed ? request.runs : 0,
                                       .warmup = request.warmup,
                                       .rate_hz = request.rate,
                                       .modes = request.modes,
                                       .cpu = *cpu ? cpu : NULL,
                                       .cpus = record_cpus(),
                                       .disks = s->looked ? &s->disks : NULL,
                                       .clocks = s->looked ? &s->clocks : NULL,
                                       .prices = s->prices};
    TRY(record_facts_write(s->folder, &facts));
    if (!s->given && run_latest(s->folder)) /* the run itself is whole */
        log_warn("%s", err_text());
    return ERR_OK;
}

/* The program goes on: what was recorded can be looked at from now on. */
static void recording_ended(void *context, const struct record_end *then)
{
    struct record_session *s = context;
    struct record_end end = *then;
    end.exit_unknown = 1;
    if (write_record_facts(s, &end))
        log_error("%s", err_text());
    else
        log_info("the recording ended after %g s, the program goes on: tomoprof report %s",
                 request.seconds, s->folder);
}

/* Makes the run's folder, or takes that of `tomoprof try`, which nobody remembers. */
static enum err record_folder(struct record_session *s)
{
    const char *given = getenv(RECORD_RUN);
    if (!given)
        return s->job.among.size ? job_folder(&s->job, request.out, s->folder)
                                 : run_make(request.out, s->folder);
    FAIL_IF(!text_print(s->folder, RUN_PATH - 64, "%s", given), ERR_INPUT,
            RECORD_RUN ": the path is too long");
    s->given = 1;
    unsetenv(RECORD_RUN); /* it is not for what the program starts */
    return ERR_OK;
}

static enum err run_program(struct record_session *s)
{
    char **environment;
    const char *program;
    TRY(cli_program(&program));
    TRY(record_library(program, s->library));
    record_mpi_library(s->library, s->word[0], s->mpi);
    job_of_environment(&s->job);
    TRY(record_folder(s));
    TRY(tracing_folder(s->folder, s->trace));
    s->settings = (struct record_settings){.library = s->library,
                                           .mpi_library = s->mpi,
                                           .folder = s->trace,
                                           .modes = request.modes,
                                           .rate_hz = request.rate,
                                           .seconds = request.seconds,
                                           .whole_graphs = request.whole_graphs,
                                           .kernel_lines = request.kernel_lines,
                                           .preload = s->target.preload};
    TRY(record_environment(&s->settings, environ, &environment, s->note));
    if (*s->note)
        log_warn("%s", s->note);
    enum err e = ERR_OK;
    const struct record_until bare = {.stop = &cli_stop};
    if (request.overhead)
        e = record_launch(s->target.path, s->word, environ, 1, &bare, &s->bare);
    if (e == ERR_FAILED) { /* a limit of processes: the recording may go without */
        log_warn("the run without the recorder failed: %s", err_text());
        e = ERR_OK;
    }
    const struct record_until until = {request.seconds, recording_ended, s, &cli_stop};
    record_disks_begin();
    record_clocks_begin();
    if (!e)
        e = record_launch(s->target.path, s->word, environment, s->silent, &until, &s->end);
    record_disks_end(&s->disks);
    record_clocks_end(&s->clocks);
    s->looked = 1;
    record_environment_free(environment);
    return e;
}

static void page_open(const char *page)
{
    if (!profile_open(page))
        log_warn("--open: no browser was found (xdg-open, wslview); open %s yourself", page);
}

/* Nothing from here on changes how this process ends: that is the program's. */
static void conclude_record(struct record_session *s)
{
    char top[256] = "";
    run_private(); /* not before: the program's umask is the user's */
    const int missing = s->job.among.size ? job_end(&s->job, request.out, s->folder, &s->end) : 0;
    if (s->job.among.rank) /* the first one goes on */
        return;
    if (missing)
        log_warn("%d of %d ranks did not say how they ended: what they recorded is in the profile "
                 "as far as it goes",
                 missing, s->job.among.size);
    if (!request.no_analysis && !request.pid) /* the analysis alone asks for them */
        priced_measure(&s->settings, s->end.user_s + s->end.system_s, &s->prices);
    enum err e = write_record_facts(s, &s->end);
    if (!e)
        e = perf_maps_keep(s->trace);
    if (s->end.left_running)
        log_warn("%d of the program's processes still run: what they do from now on is not in the "
                 "profile",
                 s->end.left_running);
    request.profile.just_ended = 1;
    if (!e && !request.no_analysis)
        e = profile_make_in_child(s->folder, &request.profile, top);
    progress_end();
    if (e == ERR_INTERRUPTED)
        log_warn("the analysis was interrupted; the recording is whole: tomoprof report %s",
                 s->folder);
    else if (e)
        log_error("%s", err_text());
    double cpu = s->end.user_s + s->end.system_s, bare = s->bare.user_s + s->bare.system_s;
    char more[40] = "";
    if (bare > 0) /* of some programs the system counts no time */
        snprintf(more, sizeof more, ", %+.1f %% CPU", 100 * (cpu / bare - 1));
    if (request.overhead && s->bare.wall_s > 0)
        log_info("%s s recorded, %s s without the recorder: %+.1f %% wall%s",
                 NUMBER(3, s->end.wall_s), NUMBER(3, s->bare.wall_s),
                 100 * (s->end.wall_s / s->bare.wall_s - 1), more);
    char page[RUN_PATH];
    snprintf(page, sizeof page, "%.*s%s", RUN_PATH - 16, s->folder,
             !e && !request.no_analysis ? "/report.html" : "");
    profile_announce(page, "", top);
    if (request.open && !s->silent && !e)
        page_open(page);
    if (!request.with || e || cli_stop)
        return;
    if (with_tool(request.with, s->folder, s->word, page))
        log_error("%s", err_text());
    else
        log_info("tomoprof: %s#compare has %s beside it", page, request.with);
}

static void recording_begun(const struct outside_settings *s)
{
    if (s->seconds > 0)
        log_info("recording process %d for %g s", (int)s->pid, s->seconds);
    else
        log_info("recording process %d until it ends, or Ctrl-C", (int)s->pid);
}

/* The program goes on, or ends by itself: how, only its parent is told. */
static enum err run_outside(struct record_session *s)
{
    struct outside_end end;
    TRY(outside_check((pid_t)request.pid));
    char **word = outside_command((pid_t)request.pid);
    FAIL_IF(!word, ERR_MEMORY, "no memory for the command line of process %d", (int)request.pid);
    enum err e = run_make(request.out, s->folder);
    if (!e)
        e = tracing_folder(s->folder, s->trace);
    const struct outside_settings settings = {.pid = (pid_t)request.pid,
                                              .seconds = request.seconds,
                                              .rate_hz = request.rate,
                                              .folder = s->trace,
                                              .stop = &cli_stop,
                                              .begun = recording_begun};
    if (!e) {
        log_info("%s", outside_limits);
        e = outside_record(&settings, &end);
    }
    if (!e) {
        cli_stop = 0; /* it ended the recording; the next one ends the analysis */
        s->end = (struct record_end){.wall_s = end.wall_s,
                                     .user_s = end.user_s,
                                     .system_s = end.system_s,
                                     .peak_rss_bytes = end.peak_rss_bytes,
                                     .pid = (int)request.pid,
                                     .exit_unknown = 1};
        s->word = word;
        conclude_record(s);
    }
    free(word);
    return e;
}

static enum err check_record(int words)
{
    FAIL_IF(request.period && request.seconds > 0, ERR_USAGE,
            "--for and --seconds mean the same: give one of them");
    if (request.period)
        TRY(timed_period(request.period, &request.seconds));
    FAIL_IF(request.pid && words, ERR_USAGE, "--pid %d: a program is named too; give one of them",
            (int)request.pid);
    FAIL_IF(!request.pid && !words, ERR_USAGE,
            "record needs [--] CMD ARGS, or --pid PID: `tomoprof record --help` has examples");
    FAIL_IF(request.seconds > 0 && request.overhead, ERR_USAGE,
            "--measure-overhead runs the program to its end: it cannot be used with --seconds");
    FAIL_IF(request.pid && (request.modes || request.overhead), ERR_USAGE,
            "--%s cannot be used with --pid: from outside, CPU time, waiting and Python lines are "
            "recorded",
            request.modes ? "modes" : "measure-overhead");
    FAIL_IF(request.runs && (request.pid || request.overhead || request.seconds > 0), ERR_USAGE,
            "--%s runs the program to its end, again and again, without the recorder: it cannot be "
            "used with --%s",
            request.against ? "against" : "runs",
            request.pid        ? "pid"
            : request.overhead ? "measure-overhead, which is a part of it"
                               : "seconds");
    FAIL_IF(request.paused && (request.pid || request.modes) &&
                (request.pid || !strstr(request.modes, "nvtx")),
            ERR_USAGE, "--paused waits for a region, which this recording would not see: %s",
            request.pid ? "leave out --pid" : "add nvtx to --modes");
    FAIL_IF(request.open && request.no_analysis, ERR_USAGE,
            "--open needs the page that --no-analysis leaves out");
    FAIL_IF(request.against && (request.with || request.no_analysis), ERR_USAGE,
            "--against compares two recordings: it cannot be used with --%s",
            request.with ? "with" : "no-analysis");
    FAIL_IF(request.with && (request.pid || request.no_analysis), ERR_USAGE,
            "--with runs the program again and compares: it cannot be used with --%s",
            request.pid ? "pid" : "no-analysis");
    if (request.with)
        TRY(with_tool_check(request.with));
    return record_modes_check(request.modes);
}

/* Finds the program of a command line; s->word is to be freed. */
static enum err session_open(struct record_session *s, size_t words, char *const *word)
{
    static char python[] = "python3";
    const size_t more = (size_t)record_is_script(word[0]);
    TRY(record_target(more ? python : word[0], &s->target));
    if (more)
        log_info("tomoprof: %s is not executable: runs it with python3", word[0]);
    if (*s->target.limits)
        log_warn("%s", s->target.limits);
    s->word = calloc(words + more + 1, sizeof *s->word); /* execve wants a NULL at the end */
    FAIL_IF(!s->word, ERR_MEMORY, "no memory for %zu words", words);
    s->word[0] = python;
    memcpy(s->word + more, word, words * sizeof *s->word);
    return ERR_OK;
}

/* Times the programs of `count` sessions. */
static enum err sessions_time(struct record_session *s, int count)
{
    struct timed_program programs[2];
    struct record_job job = {0};
    job_of_environment(&job);
    FAIL_IF(job.among.size, ERR_USAGE,
            "--runs: this is one of %d ranks of a job, which cannot run again alone. Put tomoprof "
            "before mpirun.",
            job.among.size);
    for (int i = 0; i < count; i++) {
        s[i].timed = calloc((size_t)request.runs, sizeof *s[i].timed);
        FAIL_IF(!s[i].timed, ERR_MEMORY, "no memory for %d runs", request.runs);
        s[i].silent = count > 1;
        programs[i] = (struct timed_program){&s[i].target, s[i].word, s[i].timed};
    }
    TRY(timed_measure(programs, count, request.runs, request.warmup));
    for (int i = 0; i < count; i++)
        timed_print(&programs[i], request.runs, count > 1 ? i ? "B: " : "A: " : "");
    return ERR_OK;
}

static enum err sessions_compare(const struct record_session *a, const struct record_session *b)
{
    struct comparison *c;
    TRY(compare_runs(a->folder, b->folder, &c));
    compare_text(c, stdout, 20);
    char page[RUN_PATH];
    snprintf(page, sizeof page, "%.*s/compare.html", RUN_PATH - 16, b->folder);
    const enum err e = compare_html(c, page);
    compare_free(c);
    TRY(e);
    log_page(page, "");
    if (request.open)
        page_open(page);
    return ERR_OK;
}

/* The last session is that of CMD; one before it, that of --against. */
static enum err sessions_record(struct record_session *s, int count)
{
    if (request.runs)
        TRY(sessions_time(s, count));
    for (int i = 0; i < count; i++) {
        TRY(run_program(&s[i]));
        conclude_record(&s[i]);
    }
    const struct record_end *end = &s[count - 1].end;
    cli_end = (struct cli_end){.exit_code = end->exit_code, .signal = end->signal};
    return count > 1 ? sessions_compare(&s[0], &s[1]) : ERR_OK;
}

static enum err run_record(int words, char **word)
{
    static struct record_session s[2];
    char **other = NULL;
    size_t others;
    const int count = 1 + (request.against != NULL);
    request.out = request.out ? request.out : run_default_folder();
    if (request.against && !request.runs)
        request.runs = 5;
    TRY(check_record(words));
    if (request.pid)
        return run_outside(&s[0]);
    enum err e = request.against ? timed_words(request.against, &other, &others) : ERR_OK;
    if (!e && other)
        e = session_open(&s[0], others, other);
    if (!e)
        e = session_open(&s[count - 1], (size_t)words, word);
    if (!e)
        e = sessions_record(s, count);
    for (int i = 0; i < count; i++) {
        free(s[i].timed);
        free(s[i].word);
    }
    timed_words_free(other);
    return e;
}

const struct command cmd_record = {
    .name = "record",
    .summary = "Profiles any program down to the line, without changing it.",
    .words = "[--] CMD ARGS | --pid PID",
    .text =
        "Runs CMD as it is and records it, with every program that it starts. Attributes CPU "
        "time,\n"
        "waiting, allocations and copies to source lines of Python and native code, and GPU work "
        "to\n"
        "the line that launched it. CMD keeps its input, output, signals and exit code. What was\n"
        "recorded survives a crash or kill of CMD.\n"
        "Writes DIR/<stamp>/ with report.html, profile.json and trace/. DIR/latest leads to the\n"
        "newest run. The last lines print the path of the page and its first answer.\n"
        "\n"
        "Examples:\n"
        "  tomoprof record python3 reconstruct.py --views 180\n"
        "  tomoprof record --rate 1000 --modes cpu,python -- ./solver input.h5\n"
        "  tomoprof record --runs 5 python3 reconstruct.py\n"
        "  tomoprof record --against 'python3 before.py' python3 after.py\n"
        "  tomoprof record --pid 4711 --for 30s\n",
    .options = options,
    .min_words = 0,
    .max_words = 1 << 20,
    .flags = CMD_STOPS | CMD_WRAPS,
    .run = run_record,
};
