#include <string.h>

#include "profiler/import/import.h"
#include "profiler/import/read/sqlite.h"
#include "tests/fuzz/fuzz.h"

/* Tries all importers by content. Whatever a capture holds, an imported model keeps its sums and
 * can be written. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct import_options o = {.rate_hz = 100};
    struct model *m = NULL;
    database_child_used = 0; /* a crash is a finding */
    if (import_file(fuzz_file(data, size), &o, &m)) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    for (int i = 0; i < m->stacks_count; i++)
        FUZZ_CHECK(m->stacks[i].parent < i && m->stacks[i].frame >= 0 &&
                   m->stacks[i].frame < m->frames_count);
    for (int i = 0; i < m->quality.checks_count; i++)
        FUZZ_CHECK(m->quality.checks[i].ok || !strcmp(m->quality.checks[i].id, "span_kept") ||
                   (!strchr(m->quality.checks[i].id, '.') && /* the laws of any profile */
                    !strstr(m->quality.checks[i].id, "_kept")));
    for (int i = 0; i < m->timeline_count; i++)
        for (int k = 0; k < m->timeline[i].events_count; k++)
            FUZZ_CHECK(m->timeline[i].events[k].length >= 0 && m->timeline[i].events[k].what >= -1);
    model_destroy(m);
    return 0;
}
