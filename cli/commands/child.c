/* Hidden: one operation at one size in its own process, started by the suite. */
#include "cli/cli.h"
#include "host/suite/run/suite.h"

static struct child_plan plan = {.backend = "cpu", .runs = 1, .seed = 42, .fd = 1};

static struct opt options[] = {
    OPTION_TEXT("op", 0, plan.op, "NAME", "operation of the catalogue"),
    OPTION_INT("size", 0, plan.size, "N", "edge of the volume", 1, 65536),
    OPTION_TEXT("shape", 0, plan.shape, "RxCxS", "volume of unequal edges"),
    OPTION_INT("runs", 0, plan.runs, "N", "runs, the first is cold", 1, 1e6),
    OPTION_INT("warmup", 0, plan.warmup, "N", "runs before, without rows", 0, 1e6),
    CLI_OPT_BACKEND(plan.backend),
    CLI_OPT_THREADS(plan.threads),
    OPTION_INT("seed", 0, plan.seed, "N", "seed of the noise", 0, 4294967295.0),
    OPTION_TEXT("set", 0, plan.set, "KEY=VALUE", "parameters, with blanks between them"),
    OPTION_INT("fd", 0, plan.fd, "N", "file descriptor that receives one JSON object per line", 0,
               65536),
    OPTION_PLACE("previews", 0, plan.previews, "DIR", "draw the reconstruction there"),
    OPTION_TEXT("gate", 0, plan.gate, "FILE",
                "targets that pairs of calls and copies are measured for"),
    OPTION_FLAG("calibrate", 0, plan.calibrate, "measure the machine, whatever is kept of it"),
    OPTION_FLAG("traced", 0, plan.traced, "no calibration"),
    OPTION_NUMBER("traced-cpu", 0, plan.traced_cpu_s, "S", "run until so much CPU time was used", 0,
                  1e6),
    {0},
};

static enum err run_child_run(int words, char **word)
{
    (void)words;
    (void)word;
    FAIL_IF(!plan.op || !plan.size, ERR_USAGE, "child-run needs --op and --size");
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
