/* The command `record`: starts a program under the capture library and profiles what it left. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/run_folder.h"
#include "profiler/analyze/symbols/jit.h"
#include "profiler/trace/reader.h"
#include "base/err.h"
#include "host/backend/cpu_name.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/runs/job.h"
#include "cli/runs/profile.h"
#include "cli/runs/record_json.h"
#include "cli/runs/run_files.h"
#include "cli/runs/with_tool.h"
#include "profiler/outside/outside.h"
#include "profiler/record/record.h"

/* Copies of perf maps beside the trace files. */

static enum err copy_perf_map(const char *trace, const struct trace_header *h)
{
    char from[64], to[RUN_PATH + 64];
    size_t bytes;
    const char *why; /* the analysis tells it */
    struct outfile f;
    jit_map_path(h->pid, from);
    char *text = jit_file_read(from, h->start_realtime_ns, &bytes, &why);
    if (!text)
        return ERR_OK;
    snprintf(to, sizeof to, "%.*s/perf-%d.map", RUN_PATH, trace, (int)h->pid);
    enum err e = outfile_open(&f, to);
    if (!e)
        e = outfile_write(&f, text, bytes);
    if (!e)
        e = outfile_commit(&f);
    free(text);
    return e;
}

/* Copies /tmp/perf-PID.map of each process of `trace` (a folder of trace files) into it. */
static enum err perf_maps_keep(const char *trace)
{
    char **paths;
    size_t count;
    enum err e = ERR_OK;
    if (trace_list(trace, &paths, &count))
        return ERR_OK; /* the analysis tells that there are none */
    for (size_t i = 0; i < count && !e; i++) {
        struct trace_reader *reader;
        if (trace_open(paths[i], &reader))
            continue; /* the analysis counts it */
        e = copy_perf_map(trace, trace_reader_header(reader));
        trace_reader_free(reader);
    }
    trace_list_free(paths, count);
    return e;
}

extern char **environ;

static struct record_request {
    const char *modes, *with, *out;
    double rate, seconds;
    int64_t pid;
    int overhead, no_analysis;
    struct profile_options profile;
} request = {.out = "output"};

static struct opt options[] = {
    OPTION_TEXT("modes", 'm', request.modes, "A,B,...",
                "record only these of cpu, wait, memory, copies, io, locks, python,\nnvtx, cuda "
                "(default: all these), objects (small Python objects by\nline; slower)"),
    OPTION_NUMBER("rate", 'r', request.rate, "HZ",
                  "samples per second of CPU time of each thread (default 100)", 1, 10000),
    OPTION_PLACE("out", 'o', request.out, "DIR",
                 "the run is written to DIR/<UTC stamp>/ (default output)"),
    OPTION_INT(
        "pid", 'p', request.pid, "PID",
        "sample this running process from outside: CPU time and waiting only;\nthe process goes on",
        1, INT32_MAX),
    OPTION_NUMBER("seconds", 's', request.seconds, "N",
                  "end the recording after N seconds, not the program", 0.1, 1e7),
    OPTION_FLAG("measure-overhead", 0, request.overhead,
                "first run CMD once without the recorder and silent, to\nmeasure the slow-down"),
    OPTION_FLAG("baseline", 'b', request.overhead, NULL),
    OPTION_TEXT("with", 0, request.with, "perf|nsys|ncu",
                "afterwards run CMD once more, silent, under that tool;\nboth in one report"),
    OPTION_FLAG("no-analysis", 0, request.no_analysis,
                "record only; `tomoprof report RUN` analyses later"),
    PROFILE_OPTIONS(request.profile),
    {0},
};

/* The mode that a word of everyday language means; NULL: none. */
static const char *mode_meant(const char *word)
{
    static const char *const words[][2] = {
        {"gpu", "cuda"},    {"kernels", "cuda"},  {"cupti", "cuda"}, {"nvidia", "cuda"},
        {"heap", "memory"}, {"malloc", "memory"}, {"ram", "memory"}, {"memcpy", "copies"},
        {"sleep", "wait"},  {"offcpu", "wait"},   {"time", "cpu"},   {"samples", "cpu"},
        {"ranges", "nvtx"}, {"marks", "nvtx"},    {"py", "python"},  {"gil", "locks"},
        {"mutex", "locks"}, {"futex", "locks"},   {"lock", "locks"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(word, words[i][0]))
            return words[i][1];
    return NULL;
}

static enum err check_modes(const char *list)
{
    static const char *const known[] = {"cpu",  "wait", "memory",  "copies", "python",
                                        "nvtx", "cuda", "objects", "io",     "locks"};
    const int n = sizeof known / sizeof *known;
    FAIL_IF(list && !*list, ERR_USAGE, "--modes: the list is empty");
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        char word[24];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        int i = 0;
        while (i < n && strcmp(word, known[i]))
            i++;
        const char *near = mode_meant(word);
        near = near ? near : opt_nearest(word, known, n);
        FAIL_IF(i == n && near, ERR_USAGE, "--modes: unknown mode \"%s\": did you mean %s?", word,
                near);
        FAIL_IF(i == n, ERR_USAGE,
                "--modes: unknown mode \"%s\": use some of "
                "cpu,wait,memory,copies,python,nvtx,cuda,objects,io,locks",
                word);
    }
    return ERR_OK;
}

struct record_session {
    char folder[RUN_PATH], trace[TRACING_PATH];
    struct record_job job; /* size 0: this process alone */
    struct record_target target;
    struct record_end bare, end;
    struct record_disks disks;
    struct record_clocks clocks;
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
                                       .rate_hz = request.rate,
                                       .modes = request.modes,
                                       .cpu = *cpu ? cpu : NULL,
                                       .cpus = record_cpus(),
                                       .disks = s->looked ? &s->disks : NULL,
                                       .clocks = s->looked ? &s->clocks : NULL};
    TRY(record_facts_write(s->folder, &facts));
    if (run_latest(s->folder)) /* the run itself is whole */
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

static enum err run_program(struct record_session *s, char **word)
{
    char library[RUN_PATH], mpi[RUN_PATH], **environment;
    const char *program;
    TRY(cli_program(&program));
    TRY(record_library(program, library));
    record_mpi_library(library, word[0], mpi);
    job_of_environment(&s->job);
    TRY(s->job.among.size ? job_folder(&s->job, request.out, s->folder)
                          : run_make(request.out, s->folder));
    TRY(tracing_folder(s->folder, s->trace));
    const struct record_settings settings = {.library = library,
                                             .mpi_library = mpi,
                                             .folder = s->trace,
                                             .modes = request.modes,
                                             .rate_hz = request.rate,
                                             .seconds = request.seconds,
                                             .preload = s->target.preload};
    TRY(record_environment(&settings, environ, &environment, s->note));
    if (*s->note)
        log_warn("%s", s->note);
    enum err e = ERR_OK;
    const struct record_until bare = {.stop = &cli_stop};
    if (request.overhead)
        e = record_launch(s->target.path, word, environ, 1, &bare, &s->bare);
    if (e == ERR_FAILED) { /* a limit of processes: the recording may go without */
        log_warn("the run without the recorder failed: %s", err_text());
        e = ERR_OK;
    }
    s->word = word;
    const struct record_until until = {request.seconds, recording_ended, s, &cli_stop};
    record_disks_begin();
    record_clocks_begin();
    if (!e)
        e = record_launch(s->target.path, word, environment, 0, &until, &s->end);
    record_disks_end(&s->disks);
    record_clocks_end(&s->clocks);
    s->looked = 1;
    record_environment_free(environment);
    return e;
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
        log_info("%.3g s recorded, %.3g s without the recorder: %+.1f %% wall%s", s->end.wall_s,
                 s->bare.wall_s, 100 * (s->end.wall_s / s->bare.wall_s - 1), more);
    log_info("tomoprof: %s%s%s%s", s->folder, !e && !request.no_analysis ? "/report.html" : "",
             *top ? ": " : "", top);
    char page[RUN_PATH];
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
    FAIL_IF(request.with && (request.pid || request.no_analysis), ERR_USAGE,
            "--with runs the program again and compares: it cannot be used with --%s",
            request.pid ? "pid" : "no-analysis");
    if (request.with)
        TRY(with_tool_check(request.with));
    return check_modes(request.modes);
}

static enum err run_record(int words, char **word)
{
    static struct record_session s;
    static char python[] = "python3";
    TRY(check_record(words));
    if (request.pid)
        return run_outside(&s);
    const size_t more = (size_t)record_is_script(word[0]);
    TRY(record_target(more ? python : word[0], &s.target));
    if (more)
        log_info("tomoprof: %s is not executable: runs it with python3", word[0]);
    if (*s.target.limits)
        log_warn("%s", s.target.limits);
    char **argv =
        calloc((size_t)words + more + 1, sizeof *argv); /* execve wants a NULL at the end */
    FAIL_IF(!argv, ERR_MEMORY, "no memory for %d words", words);
    argv[0] = python;
    memcpy(argv + more, word, (size_t)words * sizeof *argv);
    enum err e = run_program(&s, argv);
    if (!e) {
        conclude_record(&s);
        cli_end = (struct cli_end){.exit_code = s.end.exit_code, .signal = s.end.signal};
    }
    free(argv);
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
        "  tomoprof record --pid 4711 --seconds 30\n",
    .options = options,
    .min_words = 0,
    .max_words = 1 << 20,
    .flags = CMD_STOPS | CMD_WRAPS,
    .run = run_record,
};
