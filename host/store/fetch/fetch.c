/* The table of ways to fetch, and their workers. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "host/store/fetch/fetch.h"
#include "host/store/fetch/http.h"

static enum err http_requests(struct fetch_worker *w, struct fetch_request *r, int n)
{
    (void)w;
    for (int i = 0; i < n; i++) {
        r[i].begin_ns = clock_ns();
        if (r[i].whole)
            TRY(http_read_all(r[i].object->name, r[i].to, (size_t)r[i].bytes, &r[i].got));
        else
            TRY(http_read(r[i].object->name, r[i].offset, r[i].to, (size_t)r[i].bytes));
        r[i].data = r[i].to;
        r[i].end_ns = clock_ns();
    }
    return ERR_OK;
}

const struct fetch_way fetch_http = {"http", "ranges over HTTP", 1, 0, NULL, http_requests, NULL};

const struct fetch_way *const fetch_ways[] = {&fetch_pread, &fetch_mmap, &fetch_direct,
                                              &fetch_uring, NULL};

enum err fetch_find(const char *name, const struct fetch_way **out)
{
    for (int i = 0; fetch_ways[i]; i++)
        if (!strcmp(fetch_ways[i]->name, name)) {
            *out = fetch_ways[i];
            return ERR_OK;
        }
    return FAIL(ERR_USAGE, "`fetch=%s`: must be one of pread, mmap, direct, uring", name);
}

enum err fetch_start(struct fetch_worker *w, const struct fetch_way *way, int depth,
                     char reason[200])
{
    *w = (struct fetch_worker){.way = way, .fd = -1};
    reason[0] = 0;
    enum err e = way->start ? way->start(w, depth) : ERR_OK;
    if (e == ERR_UNSUPPORTED) {
        snprintf(reason, 200, "%s", err_text());
        *w = (struct fetch_worker){.way = &fetch_pread, .fd = -1};
        e = ERR_OK;
    }
    return e;
}

enum err fetch_read(struct fetch_worker *w, struct fetch_request *r, int n)
{
    return w->way->read(w, r, n);
}

void fetch_end(struct fetch_worker *w)
{
    if (w->way && w->way->end)
        w->way->end(w);
    fetch_close(w);
}
