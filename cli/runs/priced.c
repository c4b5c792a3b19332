/* Decides what is worth a measurement. */
#include <stdio.h>

#include "base/text.h"
#include "cli/runs/priced.h"
#include "profiler/trace/reader.h"

enum { PRICED_FROM = 8 }; /* processes: what they cost together is as much as is spent here */
#define SHORT_S 0.1       /* of CPU time: of such a program its start is 1 % and more */

void priced_measure(const struct record_settings *settings, double cpu_s, struct record_prices *out)
{
    struct record_settings s = *settings;
    char place[RUN_PATH], **paths;
    size_t processes = 0;
    if (trace_list(settings->folder, &paths, &processes) == ERR_OK)
        trace_list_free(paths, processes);
    s.folder = place;
    s.seconds = 0;
    enum record_priced what = cpu_s < SHORT_S ? PRICED_START : PRICED_SIGNALS;
    if (processes >= PRICED_FROM)
        what = PRICED_PROCESSES;
    if (!text_print(place, sizeof place, "%s-prices", settings->folder))
        what = PRICED_SIGNALS;
    record_prices_measure(&s, what, out);
}
