/* The command `record`: starts a program under the capture library and profiles what it left. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/log.h"
#include "host/cli/cli.h"
#include "host/cli/runs/profile.h"
#include "host/cli/runs/record_json.h"
#include "host/cli/runs/trace_folder.h"
#include "profiler/record/record.h"

extern char **environ;

static const char *modes, *out = "output";
static double rate;
static int baseline, no_analysis;
static struct profile_options profile;

static struct opt options[] = {
    OPTION_TEXT("modes", 'm', modes, "A,B,...",
                "what to record, of cpu, wait, memory, copies, python, nvtx,\ncuda (default: all "
                "these) and "
                "objects (small Python objects by\nline; slower)"),
    OPTION_NUMBER("rate", 'r', rate, "HZ",
                  "samples per second of CPU time of each thread (default 100)", 1, 10000),
    OPTION_PATH("out", 'o', out, "DIR", "the run is written to DIR/<UTC stamp>/ (default output)"),
    OPTION_FLAG("baseline", 'b', baseline,
                "first run it once bare and silent, to know the slow-down"),
    OPTION_FLAG("no-analysis", 0, no_analysis, "record only; `tomoprof report RUN` analyses later"),
    PROFILE_OPTIONS(profile),
    {0},
};

static enum err check_modes(const char *list)
{
    static const char *const known[] = {"cpu",    "wait", "memory", "copies",
                                        "python", "nvtx", "cuda",   "objects"};
    const int n = sizeof known / sizeof *known;
    FAIL_IF(list && !*list, ERR_USAGE, "--modes: the list is empty");
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        char word[24];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        int i = 0;
        while (i < n && strcmp(word, known[i]))
            i++;
        const char *near = opt_nearest(word, known, n);
        FAIL_IF(i == n && near, ERR_USAGE, "--modes: unknown mode \"%s\": did you mean %s?", word,
                near);
        FAIL_IF(i == n, ERR_USAGE,
                "--modes: unknown mode \"%s\": use some of "
                "cpu,wait,memory,copies,python,nvtx,cuda,objects",
                word);
    }
    return ERR_OK;
}

struct record_session {
    char folder[RUN_PATH], trace[TRACING_PATH];
    struct record_target target;
    struct record_end bare, end;
    char note[256];
};

static enum err run_program(struct record_session *s, char **word)
{
    char library[RUN_PATH], **environment;
    const char *program;
    TRY(cli_program(&program));
    TRY(record_library(program, library));
    TRY(run_make(out, s->folder));
    TRY(tracing_folder(s->folder, s->trace));
    const struct record_settings settings = {.library = library,
                                             .folder = s->trace,
                                             .modes = modes,
                                             .rate_hz = rate,
                                             .preload = s->target.preload};
    TRY(record_environment(&settings, environ, &environment, s->note));
    if (*s->note)
        log_warn("%s", s->note);
    enum err e = ERR_OK;
    if (baseline)
        e = record_launch(s->target.path, word, environ, 1, &s->bare);
    if (!e)
        e = record_launch(s->target.path, word, environment, 0, &s->end);
    record_environment_free(environment);
    return e;
}

/* That this process may use, and what it starts. */
static int usable_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
}

/* Nothing from here on changes how this process ends: that is the program's. */
static void conclude(struct record_session *s, char **word)
{
    char top[256] = "";
    char *notes[3] = {NULL}, **note = notes;
    if (*s->target.limits)
        *note++ = s->target.limits;
    if (*s->note)
        *note++ = s->note;
    const struct record_facts facts = {.command = (const char **)word,
                                       .notes = notes,
                                       .end = s->end,
                                       .bare = s->bare,
                                       .rate_hz = rate,
                                       .modes = modes,
                                       .cpus = usable_cpus()};
    enum err e = record_facts_write(s->folder, &facts);
    if (!e)
        e = run_latest(s->folder);
    if (s->end.left_running)
        log_warn("%d of the program's processes still run: what they do from now on is not in the "
                 "profile",
                 s->end.left_running);
    if (!e && !no_analysis)
        e = profile_make_apart(s->folder, &profile, top);
    progress_end();
    if (e == ERR_INTERRUPTED)
        log_warn("the analysis was interrupted; the recording is whole: tomoprof report %s",
                 s->folder);
    else if (e)
        log_error("%s", err_text());
    if (baseline && s->bare.wall_s > 0)
        log_info("%.3g s recorded, %.3g s bare: %+.1f %% wall, %+.1f %% CPU", s->end.wall_s,
                 s->bare.wall_s, 100 * (s->end.wall_s / s->bare.wall_s - 1),
                 100 *
                     ((s->end.user_s + s->end.system_s) / (s->bare.user_s + s->bare.system_s) - 1));
    log_info("tomoprof: %s%s%s", s->folder, *top ? ": " : "", top);
}

static enum err run(int words, char **word)
{
    static struct record_session s;
    TRY(check_modes(modes));
    TRY(record_target(word[0], &s.target));
    if (*s.target.limits)
        log_warn("%s", s.target.limits);
    char **argv = calloc((size_t)words + 1, sizeof *argv); /* execve wants a NULL at the end */
    FAIL_IF(!argv, ERR_MEMORY, "no memory for %d words", words);
    memcpy(argv, word, (size_t)words * sizeof *argv);
    enum err e = run_program(&s, argv);
    if (!e) {
        conclude(&s, argv);
        cli_end = (struct cli_end){s.end.exit_code, s.end.signal};
    }
    free(argv);
    return e;
}

const struct command cmd_record = {
    .name = "record",
    .summary = "Profiles any program down to the line, with no change to it.",
    .words = "[--] CMD ARGS",
    .text =
        "Runs CMD with the capture library in it and all that it starts: where CPU time goes by "
        "source\n"
        "line, what waits, who allocates and copies, Python and native code alike, NVTX ranges, "
        "and on a\n"
        "GPU each kernel and transfer by the line that launched it. CMD's input, output, signals "
        "and exit\n"
        "code are its own; what it would have said, it says. The recording survives crashes and "
        "kills.\n"
        "Writes DIR/<stamp>/trace, record.json and profile.json.\n\n"
        "Examples:\n"
        "  tomoprof record python3 reconstruct.py --views 180\n"
        "  tomoprof record --rate 1000 --modes cpu,python -- ./solver input.h5\n"
        "  tomoprof report latest --text\n",
    .options = options,
    .min_words = 1,
    .max_words = 1 << 20,
    .flags = CMD_STOPS | CMD_WRAPS,
    .run = run,
};
