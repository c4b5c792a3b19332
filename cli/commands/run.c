/* The command `run`: the suite, its profile and the report in one folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/backend/registry.h"
#include "cli/cli.h"
#include "cli/results/ranks_report.h"
#include "cli/results/threads_report.h"
#include "cli/runs/profile.h"
#include "cli/runs/run_files.h"
#include "host/cluster/crew.h"
#include "host/cpu/common/threads.h"
#include "host/suite/run/suite.h"

static struct suite_plan plan = {.runs = 3,
                                 .backend = "auto",
                                 .timeout_s = 600,
                                 .version = TP_VERSION,
                                 .seed = 42,
                                 .stop = &cli_stop};
static const char *threads;
static char settings[OPTIONS_LIST]; /* KEY=VALUE KEY=VALUE */
static struct {
    int64_t of[THREADS_RUNS];
    char folders[THREADS_RUNS][RUN_PATH];
    int count;
} turns; /* runs with different numbers of threads */
static int quick, demos, flamegraph, list, no_trace, no_triage;

/* Operations of a millisecond need samples that lie as close. */
#define FLAME_HZ    2000
#define FLAME_CPU_S 1.0 /* 200 samples and more where the kernel ticks 250 times a second */

static struct opt options[] = {
    OPTION_TEXT("ops", 0, plan.ops, "A,B,...",
                "operations, by name (default: all; --list shows them)"),
    OPTION_TEXT("group", 0, plan.group, "NAME",
                "operations of one group: projection, filter, reconstruction,\nutility, prepare, "
                "volume, storage, demos, benchmark"),
    OPTION_FLAG("demos", 0, demos,
                "the six demos that MBIRJAX publishes, at half their sizes: under\na minute on two "
                "cores; --sizes 128: as published"),
    OPTION_TEXT(
        "sizes", 0, plan.sizes, "N,M,...",
        "edges N of the N^3 volume (default 32,64,128,256);\n--group volume: 512x512x30 too"),
    OPTION_INT("runs", 0, plan.runs, "N",
               "runs of each; the first is a warm-up and not counted (default 3)", 1, 1e6),
    OPTION_INT("warmup", 0, plan.warmup, "N",
               "more warm-up runs of each, before the first one (default 0); not of\nMBIR, whose "
               "runs are iterations",
               0, 1e6),
    OPTION_FLAG("quick", 'q', quick, "sizes 32,64: under half a minute on two cores"),
    OPTION_FLAG("large", 0, plan.large, "512 and, where there is memory, 1024 too"),
    OPTION_TEXT(
        "gate", 0, plan.gate, "FILE",
        "targets (JSON; `shipped`: tomoprof's): a table of passed and\nmissed ones, exit code "
        "1 when one is missed"),
    CLI_OPT_BACKEND(plan.backend),
    OPTION_TEXT("threads", 't', threads, "N,M,...",
                "CPU threads; 0: all that this process may use; several: a run with\neach, and a "
                "table of all"),
    OPTION_NUMBER(
        "timeout", 0, plan.timeout_s, "SECONDS",
        "for all runs of one operation at one size, after which\nit counts as failed (default 600)",
        0.001, 1e6),
    OPTION_INT("seed", 0, plan.seed, "N",
               "seed of the noise and of the pixel partitions (default 42)", 0, 4294967295.0),
    OPTION_LIST("set", 0, settings, "KEY=VALUE",
                "parameters of the operations that take them, with blanks\nbetween them, or --set "
                "again for each: batches, batch_size,\npatch and subjects of group storage"),
    OPTION_PLACE("out", 'o', plan.out, "DIR",
                 "the run is written to DIR/<UTC stamp>/ (default tomoprof-runs)"),
    OPTION_FLAG(
        "calibrate", 0, plan.calibrate,
        "measure this machine's peak before each operation, instead of taking\nwhat an earlier "
        "run has kept of it"),
    OPTION_FLAG("no-trace", 0, no_trace, "measure times only: no second, profiled pass"),
    OPTION_FLAG(
        "flamegraph", 0, flamegraph,
        "a flame graph of each operation and size:\nflamegraphs/OPERATION_SIZE.svg; the profiled "
        "pass makes all --runs,\nand more until there are 200 samples"),
    OPTION_FLAG("no-triage", 0, no_triage, "no verdicts on FPGAs (triage.json, .md and .svg)"),
    OPTION_FLAG("list", 0, list, "print the operations and stop"),
    {0},
};

/* The timings are valid whatever becomes of the traces. */
static void analyse_traces(const char *folder)
{
    char top[256];
    if (profile_make_in_child(folder, &(struct profile_options){.just_ended = 1}, top))
        log_warn("no profile.json: %s; `tomoprof report %s` tries again", err_text(), folder);
}

/* The profile, the verdicts, and the page from all that the folder holds then. */
static void finish_run(int whole, char folder[RUN_PATH])
{
    char page[RUN_PATH + 16], top[256], timed[1024];
    snprintf(timed, sizeof timed, "%s", err_text());
    snprintf(folder, RUN_PATH, "%s", plan.tracer ? tracing_run() : "");
    enum err e = *folder ? ERR_OK : run_find(plan.out, folder);
    if (plan.tracer && *tracing_run())
        analyse_traces(folder);
    if (flamegraph && e == ERR_OK && !cli_stop) {
        snprintf(page, sizeof page, "%s/profile.json", folder);
        if (flame_files(page, NULL, NULL))
            log_warn("no flame graphs: %s", err_text());
    }
    if (whole && !cli_stop) {
        if (e == ERR_OK && !no_triage)
            triage_folder(folder, (struct triage_options){0});
        if (e || (e = profile_page(folder, page, NULL))) {
            log_warn("no report.html: %s", err_text());
        } else {
            profile_top(folder, NULL, top);
            log_info("%s: %s", page, top);
        }
    }
    (void)FAIL(ERR_OK, "%s", timed); /* main prints the suite's sentence */
}

/* Reads "1,2,4" into turns. */
static enum err read_threads(void)
{
    const char *at = threads ? threads : "0";
    for (turns.count = 0;; at++) {
        char *end;
        const long long n = strtoll(at, &end, 10);
        FAIL_IF(end == at || (*end && *end != ','), ERR_USAGE,
                "--threads \"%s\": expected a number of threads, or several as in 1,2,4", threads);
        FAIL_IF(n < 0 || n > 4096, ERR_USAGE, "--threads %lld: must be from 0 to 4096", n);
        FAIL_IF(turns.count == THREADS_RUNS, ERR_USAGE, "--threads %s: give at most %d numbers",
                threads, THREADS_RUNS);
        for (int i = 0; i < turns.count; i++)
            FAIL_IF(turns.of[i] == n, ERR_USAGE, "--threads %s: %lld is there twice", threads, n);
        turns.of[turns.count++] = n;
        at = end;
        if (!*at)
            break;
    }
    plan.threads = turns.of[0];
    return ERR_OK;
}

static enum err check_run(int together)
{
    TRY(read_threads());
    FAIL_IF(together && turns.count > 1, ERR_USAGE,
            "--threads %s: several processes share each operation: give one number", threads);
    FAIL_IF(flamegraph && no_trace, ERR_USAGE,
            "--flamegraph needs the profiled pass: leave out --no-trace");
    FAIL_IF(demos && plan.group, ERR_USAGE, "--demos means --group demos: give one of the two");
    if (*settings)
        plan.set = settings;
    FAIL_IF(quick && plan.sizes, ERR_USAGE, "--quick means --sizes 32,64: give one of the two");
    return ERR_OK;
}

static enum err run_as_leader(const struct suite_team *team)
{
    run_private();
    if (demos)
        plan.group = "demos";
    if (quick)
        plan.sizes = "32,64";
    if (flamegraph)
        plan.traced_runs = plan.runs;
    plan.tracer = no_trace || team ? NULL : &tracing_suite;
    plan.team = team;
    plan.out = plan.out ? plan.out : run_default_folder();
    TRY(cli_program(&plan.program));
    if (flamegraph) {
        tracing_set_rate(FLAME_HZ);
        plan.traced_cpu_s = FLAME_CPU_S;
    }
    enum err e = ERR_OK;
    for (int i = 0; i < turns.count && (!e || e == ERR_FAILED) && !cli_stop; i++) {
        if (!team)
            plan.threads = turns.of[i];
        const enum err of_run = suite_run(&plan);
        e = of_run ? of_run : e;
        if (!cli_stop)
            finish_run(!of_run || of_run == ERR_FAILED, turns.folders[i]);
    }
    if (!e && turns.count > 1 && !cli_stop)
        e = threads_report(turns.folders, turns.count);
    return e;
}

/* By all processes that mpirun or srun started: the first one's suite. */
static enum err run_together(struct cluster *c)
{
    struct backend_options o = {.threads = (int)plan.threads};
    struct backend *be = NULL;
    struct crew *crew = NULL;
    enum err e;
    cluster_choose_gpu(c);
    if (!plan.threads)
        o.threads = cluster_threads(c, cpu_threads_usable());
    plan.threads = o.threads;
    no_triage = 1; /* it judges what one process does */
    TRY_OUT(cluster_agree(c, backend_open(plan.backend, &o, &be), &cli_end.silent));
    TRY_OUT(cluster_agree(c, crew_create(c, &crew), &cli_end.silent));
    const struct suite_team team = {.size = c->place.size,
                                    .crew = crew,
                                    .send = crew_send,
                                    .run = crew_run,
                                    .release = crew_release,
                                    .shares = ranks_report_line};
    e = c->place.rank ? crew_follow(crew, be, &cli_end.silent) : run_as_leader(&team);
    if (!c->place.rank)
        e = crew_dismiss(crew, e, &cli_end.silent);
out:
    crew_free(crew);
    backend_close(be);
    return e;
}

static enum err run_suite_command(int words, char **word)
{
    (void)words;
    (void)word;
    struct cluster *c;
    char line[SUITE_LINE];
    for (int i = 0; list && suite_describe(i, line); i++)
        puts(line);
    if (list)
        return ERR_OK;
    TRY(cluster_join(&c, &cli_end.silent));
    TRY(cluster_agree(c, check_run(c->calls != NULL), &cli_end.silent));
    return c->calls ? run_together(c) : run_as_leader(NULL);
}

const struct command cmd_run = {
    .name = "run",
    .summary = "Times and profiles tomoprof's own operations.",
    .words = "",
    .text =
        "Each operation at each size runs in a process of its own on a synthetic scan (N/2 views,\n"
        "N x N detector). One that crashes or hangs is a failed row; the others go on. Under "
        "mpirun or\n"
        "srun all processes share each operation (docs/howto/mpi.md).\n"
        "The table gives median time, spread, share of this machine's measured peak, and how time\n"
        "grows with size. report.html shows all results; triage.md estimates what an FPGA would "
        "gain.\n"
        "\n"
        "Examples:\n"
        "  tomoprof run --quick\n"
        "  tomoprof run --ops parallel_fbp_recon,cone_fdk_recon --sizes 64,128,256 --runs 5\n",
    .options = options,
    .flags = CMD_STOPS,
    .run = run_suite_command,
};
