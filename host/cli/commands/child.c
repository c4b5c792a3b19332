/* Hidden: one operation at one size in its own process, started by the suite. */
#include "host/cli/cli.h"
#include "host/suite/run/suite.h"

static const char *op, *previews, *backend = "cpu";
static int64_t size, runs = 1, threads, seed = 42, fd = 1;
static int bench, traced;

static struct opt options[] = {
    {"op", 0, OPT_TEXT, &op, "NAME", "operation of the catalogue", 0, 0, 0},
    {"size", 0, OPT_INT, &size, "N", "edge of the volume", 1, 65536, 0},
    {"runs", 0, OPT_INT, &runs, "N", "runs, the first is cold", 1, 1e6, 0},
    CLI_OPT_BACKEND(backend),
    CLI_OPT_THREADS(threads),
    {"seed", 0, OPT_INT, &seed, "N", "seed of the noise", 0, 4294967295.0, 0},
    {"fd", 0, OPT_INT, &fd, "N", "file descriptor that receives one JSON object per line", 0, 65536,
     0},
    {"previews", 0, OPT_PATH, &previews, "DIR", "draw the reconstruction there", 0, 0, 0},
    {"bench", 0, OPT_FLAG, &bench, NULL, "as `tomoprof bench` wants it", 0, 0, 0},
    {"traced", 0, OPT_FLAG, &traced, NULL, "no calibration", 0, 0, 0},
    {0},
};

static enum err run(int words, char **word)
{
    (void)words;
    (void)word;
    FAIL_IF(!op || !size, ERR_USAGE, "child-run needs --op and --size");
    const struct child_plan plan = {.op = op,
                                    .backend = backend,
                                    .size = size,
                                    .runs = runs,
                                    .threads = threads,
                                    .seed = (uint64_t)seed,
                                    .fd = (int)fd,
                                    .previews = previews,
                                    .traced = traced,
                                    .bench = bench};
    return suite_child(&plan);
}

const struct command cmd_child = {
    .name = "child-run",
    .summary = "Runs one operation of the suite in this process.",
    .words = "",
    .text = "Started by `tomoprof run` and `tomoprof bench`; writes JSON lines to --fd.\n",
    .options = options,
    .flags = CMD_HIDDEN,
    .run = run,
};
