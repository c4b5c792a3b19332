/* Decides what is worth a measurement. */
#include <stdio.h>

#include "base/text.h"
#include "cli/runs/priced.h"
#include "profiler/trace/reader.h"

enum { PRICED_FROM = 8 }; /* processes: what they cost together is as much as is spent here */

void priced_measure(const struct record_settings *settings, struct record_prices *out)
{
    struct record_settings s = *settings;
    char place[RUN_PATH], **paths;
    size_t processes = 0;
    if (trace_list(settings->folder, &paths, &processes) == ERR_OK)
        trace_list_free(paths, processes);
    s.folder = place;
    s.seconds = 0;
    const int fits = text_print(place, sizeof place, "%s-prices", settings->folder);
    record_prices_measure(&s, fits && processes >= PRICED_FROM, out);
}
