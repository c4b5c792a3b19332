#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analyze/analyze.h"
#include "profiler/trace/format.h"
#include "tests/fuzz/fuzz.h"
#include "profiler/findings/findings.h"
#include "profiler/report/text/text.h"

/* A trace file of any bytes is analysed; its profile can be written, read and printed. */

static char folder[64], trace[128], profile[128];

static void clean(void)
{
    unlink(trace);
    unlink(profile);
    rmdir(folder);
}

static void make_folder(void)
{
    fuzz_folder("analyze", folder);
    snprintf(trace, sizeof trace, "%s/1-1.tpt", folder);
    snprintf(profile, sizeof profile, "%s/profile.json", folder);
    atexit(clean);
}

/* Opens the seals of chunks, or else the checksum keeps most changes out. */
static void write_trace(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    FILE *f = fopen(trace, "wb");
    if (!copy || !f)
        abort();
    memcpy(copy, data, size);
    for (size_t at = TRACE_HEADER_BYTES; at + sizeof(struct trace_chunk) <= size; at += TRACE_PAGE)
        memset(copy + at + offsetof(struct trace_chunk, sealed), 0, sizeof(uint32_t));
    fwrite(copy, 1, size, f);
    fclose(f);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    struct model *m = NULL, *again = NULL;
    if (!*folder)
        make_folder();
    if (!null)
        null = fopen("/dev/null", "w");
    write_trace(data, size);
    if (analyze_run(folder, NULL, &m) != ERR_OK) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    FUZZ_CHECK(findings_add(m) == ERR_OK && m->answers_count);
    FUZZ_CHECK(report_text(m, null, &(struct text_view){.width = 80, .colour = 1, .top = 50}) ==
               ERR_OK);
    FUZZ_CHECK(profile_write(m, profile) == ERR_OK);
    FUZZ_CHECK(profile_read(profile, &again) == ERR_OK);
    FUZZ_CHECK(again->files_count == m->files_count && again->stacks_count == m->stacks_count);
    model_destroy(m);
    model_destroy(again);
    static const struct analyze_options part = {.from_s = 0.001, .until_s = 5};
    if (size % 4 == 0 && analyze_run(folder, &part, &m) == ERR_OK) {
        FUZZ_CHECK(m->meta.wall_s >= 0 && m->meta.wall_s < 5);
        model_destroy(m);
    }
    return 0;
}
