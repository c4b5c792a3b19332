/* The command `export`: a run in the formats of other tools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/run_files.h"
#include "profiler/report/export/export.h"
#include "profiler/report/export/timing_export.h"

static struct export_request {
    const char *to, *out;
    int weight, gzip;
    double from, until, least;
} request;

enum { ROW_WEIGHT, ROW_FROM, ROW_UNTIL, ROW_LEAST };

static struct opt options[] = {
    [ROW_WEIGHT] = OPTION_CHOICE("weight", 'w', request.weight, "cpu|gpu|wait|alloc",
                                 "what folded stacks count (default cpu)"),
    [ROW_FROM] = OPTION_NUMBER(
        "from", 0, request.from, "SECONDS",
        "timelines: leave out what ended before, counted from the run's start", 0, 1e9),
    [ROW_UNTIL] = OPTION_NUMBER("until", 0, request.until, "SECONDS",
                                "timelines: leave out what began after", 0, 1e9),
    [ROW_LEAST] = OPTION_NUMBER("min-duration", 0, request.least, "SECONDS",
                                "timelines: leave out shorter events", 0, 1e9),
    OPTION_TEXT("to", 't', request.to, "FORMAT", "one of those above"),
    OPTION_OUTPUT("out", 'o', request.out, "FILE",
                  "where to write (default: beside profile.json, named after the format)"),
    OPTION_FLAG("gzip", 'z', request.gzip,
                "compress; all viewers of chrome and speedscope take it"),
    {0},
};

static enum err unknown_format(void)
{
    const char *names[32];
    char list[256] = "";
    int n = 0;
    for (int i = 0; exporters[i] && n < 32; i++)
        names[n++] = exporters[i]->name;
    for (int i = 0; timing_exporters[i] && n < 32; i++)
        names[n++] = timing_exporters[i]->name;
    for (int i = 0; i < n; i++)
        text_append(list, sizeof list, "%s%s", i ? ", " : "", names[i]);
    FAIL_IF(!request.to, ERR_USAGE, "export needs --to FORMAT, one of %s", list);
    const char *near = opt_nearest(request.to, names, n);
    FAIL_IF(near, ERR_USAGE, "--to %s: did you mean %s?", request.to, near);
    return FAIL(ERR_USAGE, "--to %s: the formats are %s", request.to, list);
}

/* profile.json or timing.json of a run, or the file itself. */
static enum err find_profile(const char *word, const char *name, char path[RUN_PATH + 20])
{
    struct stat st;
    if (run_is_file(word)) {
        snprintf(path, RUN_PATH + 20, "%s", word);
        return ERR_OK;
    }
    char folder[RUN_PATH];
    TRY(run_find(word, folder));
    snprintf(path, RUN_PATH + 20, "%s/%s", folder, name);
    int timing = !strcmp(name, "timing.json");
    FAIL_IF(stat(path, &st) != 0 && timing, ERR_INPUT,
            "%s has no timing.json: only `tomoprof run` measures times of operations", folder);
    FAIL_IF(stat(path, &st) != 0, ERR_INPUT,
            "%s has no profile.json: `tomoprof report %s` makes it from a recording", folder, word);
    return ERR_OK;
}

/* Returns the name of the export's file; to be freed. NULL: no memory. */
static char *export_file_name(const char *path, const char *stem, const char *suffix,
                              int compressed)
{
    char *file = NULL;
    int made = request.out ? asprintf(&file, "%s", request.out)
                           : asprintf(&file, "%.*s%s%s%s", (int)(base_name(path) - path), path,
                                      stem, suffix, compressed ? ".gz" : "");
    return made < 0 ? NULL : file;
}

/* Times of the suite, not a profile. */
static enum err export_times(const struct timing_exporter *x, const char *word)
{
    char path[RUN_PATH + 20];
    struct timing_file *t = NULL;
    for (int i = 0; i <= ROW_LEAST; i++)
        FAIL_IF(options[i].seen, ERR_USAGE, "--%s: --to %s holds times of operations alone",
                options[i].name, x->name);
    FAIL_IF(request.gzip, ERR_USAGE, "--gzip: readers of --to %s do not take compressed files",
            x->name);
    TRY(find_profile(word, "timing.json", path));
    TRY(timing_file_read(path, &t));
    FAIL_IF(!t, ERR_INPUT, "%s: not a timing.json", path);
    char *file = export_file_name(path, "timing", x->suffix, 0);
    if (!request.out)
        run_private();
    enum err e =
        file ? timing_export_file(t, x, file) : FAIL(ERR_MEMORY, "no memory left for a file name");
    if (e == ERR_OK)
        log_info("%s: %s", file, x->summary);
    free(file);
    timing_file_free(t);
    return e;
}

static int has_timeline(const struct exporter *x)
{
    return !strcmp(x->name, "chrome") || !strcmp(x->name, "perfetto");
}

static enum err run_export(int words, char **word)
{
    (void)words;
    char path[RUN_PATH + 20];
    const struct exporter *x = request.to ? exporter_find(request.to) : NULL;
    const struct timing_exporter *times = request.to ? timing_exporter_find(request.to) : NULL;
    if (times)
        return export_times(times, word[0]);
    if (!x)
        return unknown_format();
    for (int i = ROW_FROM; i <= ROW_LEAST; i++)
        FAIL_IF(options[i].seen && !has_timeline(x), ERR_USAGE,
                "--%s is for --to chrome and --to perfetto", options[i].name);
    FAIL_IF(options[ROW_WEIGHT].seen && strcmp(x->name, "folded") != 0, ERR_USAGE,
            "--weight is for --to folded; the others hold all weights");
    FAIL_IF(options[ROW_UNTIL].seen && request.until <= request.from, ERR_USAGE,
            "--until %g is not after --from %g", request.until, request.from);
    TRY(find_profile(word[0], "profile.json", path));
    struct model *m;
    TRY(profile_read(path, &m));
    if (!strcmp(x->name, "svg") && flame_is_suite(path)) {
        enum err e = request.gzip ? FAIL(ERR_USAGE, "--gzip is not for the flame graphs of a suite")
                                  : flame_files(path, m, request.out);
        model_destroy(m);
        return e;
    }
    char *file =
        export_file_name(path, "profile", x->suffix, request.gzip && !exporter_compresses(x));
    if (!request.out)
        run_private();
    struct export_options o = {.from_s = request.from,
                               .to_s = request.until,
                               .min_s = request.least,
                               .weight = (enum export_weight)request.weight};
    enum err e = file ? export_file(m, x, &o, request.gzip, file)
                      : FAIL(ERR_MEMORY, "no memory left for a file name");
    if (e == ERR_OK)
        log_info("%s: %s", file, x->summary);
    free(file);
    model_destroy(m);
    return e;
}

const struct command cmd_export = {
    .name = "export",
    .summary = "Writes a profile in the format of another tool.",
    .words = "RUN",
    .text = "RUN is a run folder, `latest` or a profile.json.\n\n"
            "  speedscope   flame graphs on speedscope.app: CPU, GPU, waiting, memory, threads in "
            "order\n"
            "  chrome       timeline for ui.perfetto.dev\n"
            "  folded       one stack per line for flamegraph.pl and inferno\n"
            "  csv          one row per source line\n"
            "  callgrind    for KCachegrind and callgrind_annotate\n"
            "  pprof        for go tool pprof; gzipped by itself\n"
            "  perfetto     Perfetto's own format: the timeline, smaller than chrome\n"
            "  firefox      for profiler.firefox.com: samples by thread, ranges as markers\n"
            "  nvtx         statistics of NVTX ranges, as nsys stats prints them\n"
            "  svg          a flame graph; of a run of the suite one for each operation and size,\n"
            "               flamegraphs/OPERATION_SIZE.svg, and --out is that folder\n"
            "  openmetrics  times of the suite for Prometheus (of timing.json)\n"
            "  junit        operations of the suite as test cases for CI (of timing.json)\n\n"
            "The timelines are chrome and perfetto.\n\n"
            "Example: tomoprof export latest --to chrome --from 2 --until 3 --gzip\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_export,
};
