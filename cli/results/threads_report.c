/* Reads the times of runs with different numbers of threads, and prints them side by side. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "base/timing/timing.h"
#include "cli/results/threads_report.h"

enum { LINE_ROOM = 256 };

/* NULL: the run has no such row. */
static const struct timing_statistics *statistics_find(const struct timing_file *t,
                                                       const struct timing_statistics *like)
{
    for (int i = 0; i < t->statistics_count; i++) {
        const struct timing_statistics *s = &t->statistics[i];
        if (s->operation && s->volume_size == like->volume_size &&
            !strcmp(s->operation, like->operation))
            return s;
    }
    return NULL;
}

static void print_head(struct timing_file *const files[], int count)
{
    char line[LINE_ROOM], name[32];
    text_print(line, sizeof line, "\n%-30s %11s", "operation", "size");
    for (int i = 0; i < count; i++) {
        const long long n = (long long)files[i]->environment.threads;
        text_print(name, sizeof name, "%lld thread%s", n, n == 1 ? "" : "s");
        text_append(line, sizeof line, " %11s", name);
    }
    log_info("%s %9s", line, "speed-up");
}

static void print_row(struct timing_file *const files[], int count,
                      const struct timing_statistics *row, int first)
{
    char line[LINE_ROOM], cell[TIMING_SECONDS];
    const struct timing_statistics *s = row;
    text_print(line, sizeof line, "%-30.30s %11" PRId64, first ? row->operation : "",
               row->volume_size);
    for (int i = 0; i < count; i++) {
        s = statistics_find(files[i], row);
        if (s && s->median > 0)
            timing_seconds(s->median, cell);
        text_append(line, sizeof line, " %11s", s && s->median > 0 ? cell : "-");
    }
    if (s && s->median > 0 && row->median > 0)
        log_info("%s %9.3g", line, row->median / s->median);
    else
        log_info("%s %9s", line, "-");
}

static enum err report_files(struct timing_file *files[], const char folders[][RUN_PATH], int count)
{
    for (int i = 0; i < count; i++) {
        char path[RUN_PATH + 16];
        snprintf(path, sizeof path, "%s/timing.json", folders[i]);
        TRY(timing_file_read(path, &files[i]));
        FAIL_IF(!files[i], ERR_INPUT, "%s: is not a JSON object", path);
    }
    print_head(files, count);
    const struct timing_statistics *before = NULL;
    for (int i = 0; i < files[0]->statistics_count; i++) {
        const struct timing_statistics *row = &files[0]->statistics[i];
        if (!row->operation)
            continue;
        print_row(files, count, row, !before || strcmp(before->operation, row->operation) != 0);
        before = row;
    }
    log_info("speed-up: the first time over the last. `tomoprof compare %s %s` judges it.",
             folders[0], folders[count - 1]);
    return ERR_OK;
}

enum err threads_report(const char folders[][RUN_PATH], int count)
{
    struct timing_file *files[THREADS_RUNS] = {NULL};
    enum err e = report_files(files, folders, count);
    for (int i = 0; i < count; i++)
        timing_file_free(files[i]);
    return e;
}
