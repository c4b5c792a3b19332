/* The table of ways to fetch, and their workers. */
#include <stdio.h>
#include <string.h>

#include "host/store/fetch/fetch.h"

const struct fetch_way *const fetch_ways[] = {&fetch_pread, &fetch_mmap, &fetch_direct,
                                              &fetch_uring, NULL};

enum err fetch_find(const char *name, const struct fetch_way **out)
{
    for (int i = 0; fetch_ways[i]; i++)
        if (!strcmp(fetch_ways[i]->name, name)) {
            *out = fetch_ways[i];
            return ERR_OK;
        }
    return FAIL(ERR_USAGE, "--fetch %s: must be one of pread, mmap, direct, uring", name);
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
