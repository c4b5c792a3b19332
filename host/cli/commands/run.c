/* The command `run`: the suite, its profile and the report in one folder. */
#include <stdio.h>

#include "host/base/log.h"
#include "host/cli/cli.h"
#include "host/cli/runs/profile.h"
#include "host/cli/runs/trace_folder.h"
#include "host/suite/run/suite.h"

static const char *ops, *sizes, *backend = "auto", *out = "output";
static int64_t runs = 3, threads, seed = 42;
static double timeout = 600;
static int quick, list, no_trace;

static struct opt options[] = {
    OPTION_TEXT("ops", 0, ops, "A,B,...", "operations, by name (default: all; --list shows them)"),
    OPTION_TEXT("sizes", 0, sizes, "N,M,...", "edges N of the N^3 volume (default 32,64,128,256)"),
    OPTION_INT("runs", 0, runs, "N", "runs of each; the first is cold and not counted (default 3)",
               1, 1e6),
    OPTION_FLAG("quick", 'q', quick, "sizes 32,64: under half a minute on two cores"),
    CLI_OPT_BACKEND(backend),
    CLI_OPT_THREADS(threads),
    OPTION_NUMBER(
        "timeout", 0, timeout, "SECONDS",
        "for all runs of one operation at one size, after which\nit counts as failed (default 600)",
        0.001, 1e6),
    OPTION_INT("seed", 0, seed, "N", "seed of the noise and of the pixel partitions (default 42)",
               0, 4294967295.0),
    OPTION_PATH("out", 'o', out, "DIR", "the run is written to DIR/<UTC stamp>/ (default output)"),
    OPTION_FLAG("no-trace", 0, no_trace, "timings alone: no second, profiled pass"),
    OPTION_FLAG("list", 0, list, "print the operations and stop"),
    {0},
};

/* The timings are valid whatever becomes of the traces. */
static void analyse(const char *folder)
{
    char top[256], timed[1024];
    snprintf(timed, sizeof timed, "%s", err_text());
    enum err e = profile_make_apart(folder, &(struct profile_options){0}, top);
    if (e)
        log_warn("no report.html: %s; `tomoprof report %s` tries again", err_text(), folder);
    else
        log_info("%s/report.html: %s", folder, top);
    (void)FAIL(ERR_OK, "%s", timed); /* main prints the suite's sentence */
}

static void page_of_times(void)
{
    char folder[RUN_PATH], page[RUN_PATH + 16], timed[1024];
    snprintf(timed, sizeof timed, "%s", err_text());
    if (run_find(out, folder) || profile_page(folder, page, NULL))
        log_warn("no report.html: %s", err_text());
    else
        log_info("%s", page);
    (void)FAIL(ERR_OK, "%s", timed); /* as above */
}

static enum err run(int words, char **word)
{
    (void)words;
    (void)word;
    char line[SUITE_LINE];
    for (int i = 0; list && suite_describe(i, line); i++)
        puts(line);
    if (list)
        return ERR_OK;
    FAIL_IF(quick && sizes, ERR_USAGE, "--quick means --sizes 32,64: give one of the two");
    struct suite_plan plan = {
        .ops = ops,
        .sizes = quick ? "32,64" : sizes,
        .runs = runs,
        .backend = backend,
        .threads = threads,
        .timeout_s = timeout,
        .out = out,
        .version = TP_VERSION,
        .seed = (uint64_t)seed,
        .stop = &cli_stop,
        .tracer = no_trace ? NULL : &tracing_suite,
    };
    TRY(cli_program(&plan.program));
    enum err e = suite_run(&plan);
    if (*tracing_run() && !cli_stop)
        analyse(tracing_run());
    else if (!e || e == ERR_FAILED)
        page_of_times();
    return e;
}

const struct command cmd_run = {
    .name = "run",
    .summary = "Times every operation of the suite and writes output/<stamp>/timing.json.",
    .words = "",
    .text =
        "Each operation at each size runs in a process of its own on a synthetic scan (two "
        "ellipsoids,\n"
        "1 % noise; N/2 views, N x N detector), so one that crashes, hangs or runs out of memory "
        "is a\n"
        "failed row and nothing more. The table at the end gives median time, spread, share of "
        "this\n"
        "machine's measured peak, and how time grows with size. Ctrl-C writes what there is.\n\n"
        "Examples:\n"
        "  tomoprof run --quick\n"
        "  tomoprof run --ops parallel_fbp_recon,cone_fdk_recon --sizes 64,128,256 --runs 5\n"
        "  tomoprof info output/latest\n",
    .options = options,
    .flags = CMD_STOPS,
    .run = run,
};
