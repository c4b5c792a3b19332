/* The command `import`: a capture of another tool becomes a run with profile.json and report.html.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/run_folder.h"
#include "cli/cli.h"
#include "cli/runs/with_tool.h"
#include "cli/runs/profile.h"
#include "cli/runs/run_files.h"

static struct import_request {
    const char *out;
    double rate;
    int64_t size;
} request;

static struct opt options[] = {
    OPTION_PLACE("out", 'o', request.out, "DIR",
                 "the run is written to DIR/<UTC stamp>/ (default tomoprof-runs)"),
    OPTION_NUMBER("rate", 'r', request.rate, "HZ",
                  "samples per second, for captures that count samples without a time", 0.001, 1e9),
    {.name = "size",
     .letter = 'n',
     .kind = OPT_INT,
     .value = &request.size,
     .meta = "N",
     .help = "edge of the volume: verdicts on FPGAs where the capture has our operations",
     .min = 4,
     .max = 65536},
    {0},
};

static int has_operations(const struct model *m)
{
    for (int i = 0; i < m->ranges_count; i++)
        if (m->ranges[i].domain && !strcmp(m->ranges[i].domain, "tomoprof"))
            return 1;
    return 0;
}

static enum err run_import(int words, char **word)
{
    char folder[RUN_PATH], page[RUN_PATH + 16], top[256] = "";
    struct model *m = NULL;
    long long bytes;
    (void)words;
    const struct import_options o = {.rate_hz = request.rate};
    TRY(captured_read(word[0], &o, &m));
    enum err e = run_make(request.out ? request.out : run_default_folder(), folder);
    run_private();
    if (!e)
        e = captured_write(m, folder);
    if (!e && request.size && has_operations(m))
        triage_folder(folder, (struct triage_options){.size = (double)request.size});
    if (!e)
        e = profile_page(folder, page, &bytes);
    if (!e)
        profile_top(folder, m, top);
    int operations = !e && has_operations(m);
    model_destroy(m);
    TRY(e);
    if (run_latest(folder)) /* the run itself is whole */
        log_warn("%s", err_text());
    if (operations && !request.size)
        log_info("the capture has operations of tomoprof; `tomoprof triage %s --size N` estimates "
                 "which of them would benefit from an FPGA",
                 folder);
    else if (request.size && !operations)
        log_warn("--size: the capture has no operations of tomoprof, so nothing was judged");
    log_info("tomoprof: %s%s%s", page, *top ? ": " : "", top);
    return ERR_OK;
}

const struct command cmd_import = {
    .name = "import",
    .summary = "Turns a capture of another tool into a run with a report.",
    .words = "FILE",
    .text =
        "FILE is one of these; its content decides, not its name:\n\n"
        "  Nsight Systems   SQLite export, or .nsys-rep where nsys is installed\n"
        "  Nsight Compute   the output of `ncu --csv`, or .ncu-rep where ncu is installed\n"
        "  PyTorch          the JSON of torch.profiler, plain or gzip\n"
        "  JAX              perfetto_trace.json.gz, or HOST.xplane.pb\n"
        "  perf             the output of `perf script --ns -F +pid`, or perf.data where perf is\n"
        "                   installed\n"
        "  others           speedscope, pprof, folded stacks, callgrind, the Firefox Profiler,\n"
        "                   Perfetto and Chrome trace events; also as `tomoprof export` wrote "
        "them\n\n"
        "Writes DIR/<stamp>/profile.json and report.html. What the capture does not hold is null,\n"
        "with its reason under \"Data quality\". report, compare and export read the run as their "
        "own.\n\n"
        "Examples:\n"
        "  tomoprof import capture.sqlite\n"
        "  tomoprof import --size 256 suite.nsys-rep   with verdicts on FPGAs\n"
        "  tomoprof import --rate 100 pyspy.folded\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_import,
};
