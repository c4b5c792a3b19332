/* perf, Nsight Systems and Nsight Compute, each a row: how it records, and what it leaves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/child.h"
#include "cli/runs/captured.h"
#include "cli/runs/with_tool.h"
#include "profiler/report/compare/compare.h"
#include "profiler/report/page/html.h"

#define OUTPUT "OUTPUT" /* in a row's words: where the capture goes */

static const struct tool {
    const char *name, *file, *install;
    const char *words[16];
} tools[] = {
    {"perf",
     "perf.data",
     "Debian: linux-perf",
     {"perf", "record", "-e", "cpu-clock", "-F", "500", "-g", "-o", OUTPUT, "--"}},
    {"nsys",
     "capture.nsys-rep",
     "it comes with the CUDA toolkit; Debian: nsight-systems",
     {"nsys", "profile", "-t", "osrt,nvtx,cuda", "-s", "process-tree", "--force-overwrite", "true",
      "-o", OUTPUT}},
    {"ncu",
     "capture.ncu-rep",
     "it comes with the CUDA toolkit; Debian: nsight-compute",
     /* clocks as they are: what ncu fixes them to is slower than the run beside it */
     {"ncu", "--target-processes", "all", "--nvtx", "--clock-control", "none", "--set", "basic",
      "--metrics", "dram__bytes_read.sum,dram__bytes_write.sum", "--force-overwrite", "-o",
      OUTPUT}},
};

static const struct tool *tool_named(const char *name)
{
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (!strcmp(tools[i].name, name))
            return &tools[i];
    return NULL;
}

enum err with_tool_check(const char *name)
{
    const struct tool *t = tool_named(name);
    FAIL_IF(!t, ERR_USAGE, "--with %s: must be perf, nsys or ncu", name);
    FAIL_IF(!in_path(name), ERR_UNSUPPORTED,
            "--with %s: %s is not in PATH. Install it (%s), or record without --with.", name, name,
            t->install);
    return ERR_OK;
}

/* An nsys that does not find its own importer, as Debian packages it, leaves a .qdstrm. */
static enum err finish_nsys(const char *file, const char *log)
{
    char raw[RUN_PATH + 64];
    int status;
    snprintf(raw, sizeof raw, "%.*s.qdstrm", (int)(strrchr(file, '.') - file), file);
    if (access(raw, R_OK))
        return ERR_OK;
    char *words[] = {"QdstrmImporter", "-i", raw, "-o", (char *)file, NULL};
    enum err e = captured_run(words, log, &status);
    if (!e && !access(file, R_OK))
        unlink(raw);
    return e;
}

static enum err capture_with_tool(const struct tool *t, char *const command[], const char *file,
                                  const char *log)
{
    size_t n = 0, at = 0;
    while (command[n])
        n++;
    char **words = calloc(n + sizeof t->words / sizeof *t->words + 1, sizeof *words);
    FAIL_IF(!words, ERR_MEMORY, "no memory for the words of %s", t->name);
    for (size_t i = 0; t->words[i]; i++)
        words[at++] = strcmp(t->words[i], OUTPUT) ? (char *)t->words[i] : (char *)file;
    memcpy(words + at, command, n * sizeof *words);
    int status;
    enum err e = captured_run(words, log, &status);
    free(words);
    if (!e && access(file, R_OK))
        e = finish_nsys(file, log);
    FAIL_IF(!e && access(file, R_OK), ERR_FAILED,
            "%s left no capture (exit status %d): %s has its words", t->name, status, log);
    return e;
}

static enum err import_capture(const char *file, const char *folder)
{
    char page[RUN_PATH + 32];
    struct model *m = NULL;
    const struct import_options none = {0};
    enum err e = captured_read(file, &none, &m);
    if (!e)
        e = captured_write(m, folder);
    model_destroy(m);
    snprintf(page, sizeof page, "%s/report.html", folder);
    return e ? e : report_html(folder, page, NULL);
}

/* RUN/compare.json, and RUN/report.html with it. */
static enum err compare_beside(const char *run, const char *folder, char page[RUN_PATH])
{
    struct comparison *c;
    struct outfile f = {0};
    FAIL_IF(!text_print(page, RUN_PATH, "%s/compare.json", run), ERR_INPUT,
            "the path %.100s... is too long", run);
    TRY(compare_runs(run, folder, &c));
    enum err e = outfile_open(&f, page);
    if (!e)
        compare_json(c, f.stream);
    if (!e)
        e = outfile_commit(&f);
    outfile_abort(&f);
    compare_free(c);
    TRY(e);
    snprintf(page, RUN_PATH, "%s/report.html", run);
    return report_html(run, page, NULL);
}

enum err with_tool(const char *name, const char *run, char *const command[], char page[RUN_PATH])
{
    char folder[RUN_PATH], file[RUN_PATH + 32], log[RUN_PATH + 8];
    const struct tool *t = tool_named(name);
    FAIL_IF(snprintf(folder, sizeof folder, "%s/%s", run, name) >= RUN_PATH - 32, ERR_INPUT,
            "the path %.100s... is too long", run);
    TRY(dir_make(folder));
    snprintf(file, sizeof file, "%s/%s", folder, t->file);
    snprintf(log, sizeof log, "%s/log", folder);
    TRY(capture_with_tool(t, command, file, log));
    TRY(import_capture(file, folder));
    return compare_beside(run, folder, page);
}
