/* Closed formats are converted by the tool that wrote them, in a folder that is removed again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/runs/captured.h"

enum err captured_run(char *const words[], const char *to, int *status)
{
    const int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
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
    TRY(captured_run(words, to, &status));
    FAIL_IF(status == 127, ERR_UNSUPPORTED,
            "%s is not installed or not in PATH, and only it reads this file", words[0]);
    FAIL_IF(status, ERR_FAILED, "%s could not read the file (status %d)", words[0], status);
    return ERR_OK;
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
    char *ncu[] = {"ncu", "--import", full, "--csv", "--page", "raw", NULL};
    enum err e = kind == PERF_DATA    ? run_converter(perf, converted)
                 : kind == NCU_REPORT ? run_converter(ncu, converted)
                                      : run_converter(nsys, log);
    free(full);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

enum err captured_read(const char *path, const struct import_options *o, struct model **out)
{
    char folder[] = "/tmp/tomoprof-import-XXXXXX", converted[RUN_PATH], log[64];
    enum closed kind = capture_kind(path);
    if (kind == OPEN_FORMAT)
        return import_file(path, o, out);
    FAIL_IF(!mkdtemp(folder), ERR_IO, "%s: cannot be made: %s", folder, strerror(errno));
    enum err e = through_tool(path, kind, folder, converted);
    if (!e)
        e = import_file(converted, o, out);
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
