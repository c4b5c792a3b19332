/* perf, Nsight Systems and Nsight Compute, each a row: how it records, and what it leaves. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/runs/with_tool.h"
#include "profiler/report/compare/compare.h"
#include "profiler/report/page/html.h"

/* Closed formats are converted by the tool that wrote them, in a folder that is removed again. */

/* Runs another tool to its end, what it prints to the file `to`, or to its end (append); status 127:
 * it is not installed. */
static enum err captured_run(char *const words[], const char *to, int append, int *status)
{
    const int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0600);
    const struct child_program p = {.argv = (const char *const *)words,
                                    .output_fd = fd < 0 ? 0 : fd};
    enum child_end end;
    const enum err e = child_run(&p, &end, status);
    if (fd >= 0)
        close(fd);
    if (!e && end == CHILD_SIGNALLED)
        *status += 128;
    return e;
}

static enum err run_converter(char *const words[], const char *to)
{
    int status;
    TRY(captured_run(words, to, 0, &status));
    FAIL_IF(status == 127, ERR_UNSUPPORTED,
            "%s is not installed or not in PATH, and only it reads this file", words[0]);
    FAIL_IF(status, ERR_FAILED, "%s could not read the file (status %d)", words[0], status);
    return ERR_OK;
}

/* Lines inside kernels come after the launches. A capture without them, or an ncu that cannot print
 * them, has the launches alone. */
static enum err convert_ncu(char *capture, const char *to)
{
    int status;
    char *launches[] = {"ncu", "--import", capture, "--csv", "--page", "raw", NULL};
    char *lines[] = {"ncu",    "--import",       capture,     "--csv", "--page",
                     "source", "--print-source", "cuda,sass", NULL};
    TRY(run_converter(launches, to));
    return captured_run(lines, to, 1, &status);
}

enum closed { OPEN_FORMAT, PERF_DATA, NSYS_REPORT, NCU_REPORT };
static const char *const converted_names[] = {"", "perf.txt", "nsys.sqlite", "ncu.csv"};

static enum closed capture_kind(const char *path)
{
    char begin[8] = "";
    FILE *f;
    if (text_has_suffix(path, ".nsys-rep")) /* closed, without a mark of its own */
        return NSYS_REPORT;
    if (text_has_suffix(path, ".ncu-rep"))
        return NCU_REPORT;
    if (file_open(path, &f))
        return OPEN_FORMAT;
    size_t got = fread(begin, 1, sizeof begin, f);
    fclose(f);
    return got == sizeof begin && !memcmp(begin, "PERFILE2", 8) ? PERF_DATA : OPEN_FORMAT;
}

static enum err through_tool(const char *path, enum closed kind, const char *folder,
                             char converted[RUN_PATH])
{
    char log[RUN_PATH], *full = realpath(path, NULL);
    FAIL_IF(!full, ERR_INPUT, "%s: %s", path, strerror(errno));
    snprintf(converted, RUN_PATH, "%s/%s", folder, converted_names[kind]);
    snprintf(log, sizeof log, "%s/log", folder);
    char *perf[] = {"perf", "script", "--ns", "-F", "+pid", "-i", full, NULL};
    char *nsys[] = {"nsys", "export", "--type", "sqlite", "--output", converted, full, NULL};
    enum err e = kind == PERF_DATA    ? run_converter(perf, converted)
                 : kind == NCU_REPORT ? convert_ncu(full, converted)
                                      : run_converter(nsys, log);
    free(full);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

/* A small file may make a large model: an allocation fails then, not the machine. */
static enum err captured_import(const char *path, const struct import_options *o,
                                struct model **out)
{
    mem_limit_process(mem_available());
    return import_file(path, o, out);
}

enum err captured_read(const char *path, const struct import_options *o, struct model **out)
{
    char folder[] = "/tmp/tomoprof-import-XXXXXX", converted[RUN_PATH], log[64];
    enum closed kind = capture_kind(path);
    if (kind == OPEN_FORMAT)
        return captured_import(path, o, out);
    FAIL_IF(!mkdtemp(folder), ERR_IO, "%s: cannot be made: %s", folder, strerror(errno));
    enum err e = through_tool(path, kind, folder, converted);
    if (!e)
        e = captured_import(converted, o, out);
    unlink(converted);
    snprintf(log, sizeof log, "%s/log", folder);
    unlink(log);
    rmdir(folder);
    return e;
}

enum err captured_write(struct model *m, const char *folder)
{
    char path[RUN_PATH + 16];
    m->meta.tool_version = TP_VERSION;
    snprintf(path, sizeof path, "%s/profile.json", folder);
    return profile_write(m, path);
}

#define OUTPUT "OUTPUT" /* in a row's words: where the capture goes */

static const struct tool {
    const char *name, *file, *install;
    const char *words[20];
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
      "--section", "SourceCounters", "--import-source", "yes", "--metrics",
      "dram__bytes_read.sum,dram__bytes_write.sum", "--force-overwrite", "-o", OUTPUT}},
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
    enum err e = captured_run(words, log, 0, &status);
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
    enum err e = captured_run(words, log, 0, &status);
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
