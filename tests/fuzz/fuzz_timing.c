#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/report/compare/compare.h"
#include "profiler/report/export/timing_export.h"
#include "profiler/triage/triage.h"
#include "tests/fuzz/fuzz.h"

/* A timing.json of any bytes is exported, compared with itself, judged by triage and written again.
 */

static char folder[64], timing[128], again[128], loading[128];

static void clean(void)
{
    unlink(timing);
    unlink(again);
    unlink(loading);
    rmdir(folder);
}

static void make_folder(void)
{
    fuzz_folder("timing", folder);
    snprintf(timing, sizeof timing, "%s/timing.json", folder);
    snprintf(again, sizeof again, "%s/again.json", folder);
    snprintf(loading, sizeof loading, "%s/loading.json", folder);
    FUZZ_CHECK(!symlink("timing.json", loading));
    atexit(clean);
}

static void check_file(FILE *sink)
{
    struct timing_file *t, *read;
    char line[TIMING_HEADLINE];
    if (timing_file_read(timing, &t)) {
        FUZZ_CHECK(*err_text());
        return;
    }
    if (!t)
        return;
    timing_headline(t, line);
    for (int i = 0; timing_exporters[i]; i++)
        timing_exporters[i]->write(t, sink);
    FUZZ_CHECK(!timing_file_write(t, again) && !timing_file_read(again, &read) && read);
    FUZZ_CHECK(read->measurements_count == t->measurements_count);
    timing_file_free(read);
    timing_file_free(t);
}

static void check_compare(const char *path, FILE *sink)
{
    struct comparison *c;
    if (compare_runs(path, path, &c)) {
        FUZZ_CHECK(*err_text());
        return;
    }
    compare_text(c, sink, 20);
    compare_json(c, sink);
    FUZZ_CHECK(!compare_over(c, 0.1));
    compare_free(c);
}

static void check_triage(FILE *sink)
{
    const struct triage_options o = {.version = "fuzz"};
    struct triage *t;
    if (triage_make(timing, NULL, &o, &t)) {
        FUZZ_CHECK(*err_text());
        return;
    }
    FUZZ_CHECK(*t->headline);
    FUZZ_CHECK(!triage_write_json(t, sink) && !triage_write_markdown(t, sink) &&
               !triage_write_svg(t, sink));
    triage_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *sink = fuzz_sink();
    if (!*folder)
        make_folder();
    FILE *f = fopen(timing, "wb");
    FUZZ_CHECK(f && fwrite(data, 1, size, f) == size && !fclose(f));
    check_file(sink);
    check_compare(timing, sink);
    check_compare(loading, sink); /* reads the same bytes as a loading.json */
    check_triage(sink);
    fflush(sink);
    return 0;
}
