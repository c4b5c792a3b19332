/* Shifts of clocks: measured by messages where the program compared them, else by the time of day.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/ranks/ranks.h"
#include "profiler/analyze/state/image.h"

struct one_clock {
    uint64_t id;
    uint64_t earliest; /* start of an image */
    int64_t ahead;     /* of the time of day, as its first image had it */
    struct trace_clock_shift shift[2];
    int64_t applied;
};
struct run_clocks {
    VECTOR(struct one_clock) all;
    double error_ns, moved_ns; /* largest; moved: between both comparisons */
    int turned, once, by_day;  /* clocks; of these compared at the start alone; not at all */
};

static struct one_clock *clocks_find(const struct run_clocks *c, uint64_t id)
{
    for (size_t i = 0; i < c->all.count; i++)
        if (c->all.items[i].id == id)
            return &c->all.items[i];
    return NULL;
}

enum err clocks_add(struct run *r, const struct trace_header *h)
{
    if (!r->clocks)
        r->clocks = calloc(1, sizeof *r->clocks);
    struct run_clocks *c = r->clocks;
    FAIL_IF(!c, ERR_MEMORY, "no memory for the analysis");
    struct one_clock *k = clocks_find(c, h->clock.id);
    if (!k) {
        TRY(vector_add(&c->all, (struct one_clock){.id = h->clock.id, .earliest = UINT64_MAX}));
        k = &c->all.items[c->all.count - 1];
        k->ahead = (int64_t)(h->start_ns - h->start_realtime_ns);
    }
    k->earliest = h->start_ns < k->earliest ? h->start_ns : k->earliest;
    for (int i = 0; i < 2; i++)
        if (h->clock.shift[i].at_ns && !k->shift[i].at_ns)
            k->shift[i] = h->clock.shift[i];
    return ERR_OK;
}

/* The one that others were compared with; where none was, the first. */
static const struct one_clock *clocks_reference(const struct run_clocks *c)
{
    for (size_t i = 0; i < c->all.count; i++)
        if (!c->all.items[i].shift[0].at_ns)
            return &c->all.items[i];
    return c->all.items;
}

static void clocks_apply(struct run_clocks *c, struct one_clock *k, const struct one_clock *first)
{
    const struct trace_clock_shift *a = &k->shift[0], *b = &k->shift[1];
    c->turned++;
    if (!a->at_ns) {
        k->applied = (int64_t)((uint64_t)k->ahead - (uint64_t)first->ahead);
        c->by_day++;
        return;
    }
    /* the mean of both: what a clock moved between them is wrong by half at either end */
    const double moved = b->at_ns ? (double)b->shift_ns - (double)a->shift_ns : 0;
    const uint64_t worse = b->error_ns > a->error_ns ? b->error_ns : a->error_ns;
    k->applied = (int64_t)((uint64_t)a->shift_ns + (uint64_t)(int64_t)(fmod(moved, 0x1p62) / 2));
    c->error_ns = fmax(c->error_ns, (double)worse + fabs(moved) / 2);
    c->moved_ns = fmax(c->moved_ns, fabs(moved));
    c->once += !b->at_ns;
}

void clocks_finish(struct run *r)
{
    struct run_clocks *c = r->clocks;
    const struct one_clock *first = clocks_reference(c);
    r->origin = UINT64_MAX;
    for (size_t i = 0; i < c->all.count; i++) {
        struct one_clock *k = &c->all.items[i];
        if (k != first && k->id && first->id)
            clocks_apply(c, k, first);
        const uint64_t start = k->earliest - (uint64_t)k->applied;
        r->origin = start < r->origin ? start : r->origin;
    }
}

int64_t clocks_shift(const struct run *r, const struct trace_header *h)
{
    const struct one_clock *k = clocks_find(r->clocks, h->clock.id);
    return k ? k->applied : 0;
}

const char *clocks_text(struct run *r)
{
    const struct run_clocks *c = r->clocks;
    char text[320], moved[96] = "they were not compared again at the end";
    if (!c->turned)
        return "the clock that all ranks of one machine share";
    if (c->by_day)
        return run_text(r, "the time of day of each machine, for no messages compared their "
                           "clocks: by how much it is wrong is not known");
    if (!c->once)
        snprintf(moved, sizeof moved, "until the end they moved by %.3g us", 1e-3 * c->moved_ns);
    snprintf(text, sizeof text,
             "%d clocks, compared by messages when MPI started: wrong by %.3g us at most; %s",
             c->turned + 1, 1e-3 * c->error_ns, moved);
    return run_text(r, text);
}

void clocks_free(struct run *r)
{
    if (!r->clocks)
        return;
    vector_free(&r->clocks->all);
    free(r->clocks);
    r->clocks = NULL;
}
