/* The table of processes below an operation's line. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/json/jsonw.h"
#include "base/log.h"
#include "cli/results/ranks_report.h"

void ranks_report_print(const struct crew *w)
{
    const char *why, *axis = w ? crew_shared(w, &why) : NULL;
    struct crew_rank k;
    if (w && !axis)
        log_info("not shared, the first process made all of it: %s", why);
    for (int r = 0; axis && crew_rank_at(w, r, &k); r++)
        if (k.count)
            log_info("process %d: %s %" PRId64 " to %" PRId64 ", %.4g s", r, axis, k.first,
                     k.first + k.count - 1, k.seconds);
        else
            log_info("process %d: nothing, there are fewer %s than processes", r, axis);
}

void ranks_report_write(struct jsonw *w, const struct crew *crew)
{
    const char *why, *axis = crew_shared(crew, &why);
    struct crew_rank k;
    jsonw_kstring(w, "shared", axis);
    jsonw_karray(w, "ranks");
    for (int r = 0; crew_rank_at(crew, r, &k); r++) {
        jsonw_object(w);
        jsonw_kint(w, "rank", r);
        jsonw_kint(w, "first", k.first);
        jsonw_kint(w, "count", k.count);
        jsonw_knumber(w, "time", k.seconds);
        jsonw_end(w);
    }
    jsonw_end(w);
}

void ranks_report_line(const struct crew *w, char text[SUITE_SHARES])
{
    const char *why, *axis = crew_shared(w, &why);
    struct crew_rank k;
    snprintf(text, SUITE_SHARES, axis ? "%s:" : "by the first alone: %s", axis ? axis : why);
    for (int r = 0; crew_rank_at(w, r, &k); r++)
        text_append(text, SUITE_SHARES, "%s %" PRId64 " in %.3g s", r ? "," : "", k.count,
                    k.seconds);
}
