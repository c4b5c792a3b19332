/* Hidden: one operation at one size in its own process, started by the suite. */
#include "cli/cli.h"
#include "host/suite/run/suite.h"

static const char *op, *shape, *previews, *gate, *backend = "cpu";
static int64_t size, runs = 1, threads, seed = 42, fd = 1;
static int traced;

static struct opt options[] = {
    OPTION_TEXT("op", 0, op, "NAME", "operation of the catalogue"),
    OPTION_INT("size", 0, size, "N", "edge of the volume", 1, 65536),
    OPTION_TEXT("shape", 0, shape, "RxCxS", "volume of unequal edges"),
    OPTION_INT("runs", 0, runs, "N", "runs, the first is cold", 1, 1e6),
    CLI_OPT_BACKEND(backend),
    CLI_OPT_THREADS(threads),
    OPTION_INT("seed", 0, seed, "N", "seed of the noise", 0, 4294967295.0),
    OPTION_INT("fd", 0, fd, "N", "file descriptor that receives one JSON object per line", 0,
               65536),
    OPTION_PLACE("previews", 0, previews, "DIR", "draw the reconstruction there"),
    OPTION_TEXT("gate", 0, gate, "FILE", "targets that pairs of calls and copies are measured for"),
    OPTION_FLAG("traced", 0, traced, "no calibration"),
    {0},
};

static enum err run_child_run(int words, char **word)
{
    (void)words;
    (void)word;
    FAIL_IF(!op || !size, ERR_USAGE, "child-run needs --op and --size");
    const struct child_plan plan = {.op = op,
                                    .backend = backend,
                                    .size = size,
                                    .shape = shape,
                                    .runs = runs,
                                    .threads = threads,
                                    .seed = (uint64_t)seed,
                                    .fd = (int)fd,
                                    .previews = previews,
                                    .gate = gate,
                                    .traced = traced};
    return suite_child(&plan);
}

const struct command cmd_child = {
    .name = "child-run",
    .summary = "Runs one operation of the suite in this process.",
    .words = "",
    .text = "Started by `tomoprof run`; writes JSON lines to --fd.\n",
    .options = options,
    .flags = CMD_HIDDEN,
    .run = run_child_run,
};
