#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/report/compare/compare.h"
#include "profiler/report/export/export.h"
#include "profiler/report/text/text.h"
#include "tests/fuzz/fuzz.h"

/* A profile.json of any bytes is printed, exported to every format, compared with itself and
 * written again. */

static char folder[64], profile[128], again[128];

static void clean(void)
{
    unlink(profile);
    unlink(again);
    rmdir(folder);
}

static void make_folder(void)
{
    fuzz_folder("profile", folder);
    snprintf(profile, sizeof profile, "%s/profile.json", folder);
    snprintf(again, sizeof again, "%s/again.json", folder);
    atexit(clean);
}

static void check_compare(FILE *sink)
{
    struct comparison *c;
    if (compare_runs(profile, profile, &c)) {
        FUZZ_CHECK(*err_text());
        return;
    }
    compare_text(c, sink, 20);
    compare_json(c, sink);
    compare_free(c);
}

static void check_exports(const struct model *m, FILE *sink)
{
    const struct export_options o = {0};
    for (int i = 0; exporters[i]; i++)
        FUZZ_CHECK(export_write(m, exporters[i], &o, sink) == ERR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *sink = fuzz_sink();
    struct model *m = NULL, *read = NULL;
    if (!*folder)
        make_folder();
    FILE *f = fopen(profile, "wb");
    FUZZ_CHECK(f && fwrite(data, 1, size, f) == size && !fclose(f));
    if (profile_read(profile, &m)) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    FUZZ_CHECK(report_text(m, sink, &(struct text_view){.width = 80, .colour = 1, .top = 50}) ==
               ERR_OK);
    check_exports(m, sink);
    check_compare(sink);
    fflush(sink);
    FUZZ_CHECK(profile_write(m, again) == ERR_OK);
    FUZZ_CHECK(profile_read(again, &read) == ERR_OK);
    FUZZ_CHECK(read->files_count == m->files_count && read->stacks_count == m->stacks_count);
    model_destroy(m);
    model_destroy(read);
    return 0;
}
