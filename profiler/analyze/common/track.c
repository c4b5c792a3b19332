/* Merges events of a track that are closer than its resolution. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/common/track.h"

void track_free(struct track *t)
{
    free(t->events);
    memset(t, 0, sizeof *t);
}

static void event_merge(struct track_event *to, const struct track_event *e)
{
    to->start = to->start < e->start ? to->start : e->start;
    to->end = to->end > e->end ? to->end : e->end;
    to->busy += e->busy;
    to->count += e->count;
    if (e->largest > to->largest) {
        to->largest = e->largest;
        to->what = e->what;
    }
}

static int event_is_near(const struct track *t, const struct track_event *last,
                         const struct track_event *e)
{
    return t->resolution && e->start - last->start < t->resolution;
}

void track_reduce(struct track *t, size_t limit)
{
    while (t->count > limit && limit) {
        uint64_t span = t->events[t->count - 1].start - t->events[0].start;
        uint64_t least = span / limit + 1;
        t->resolution = t->resolution * 2 > least ? t->resolution * 2 : least;
        size_t kept = 0;
        for (size_t i = 1; i < t->count; i++)
            if (event_is_near(t, &t->events[kept], &t->events[i]))
                event_merge(&t->events[kept], &t->events[i]);
            else
                t->events[++kept] = t->events[i];
        t->count = kept + 1;
    }
}

#define APART_NS 1000000 /* between two parts: time on a CPU that is too short to be drawn */

int track_extend(struct track *t, uint64_t start, uint64_t end, uint32_t what)
{
    struct track_event *last = t->count ? &t->events[t->count - 1] : NULL;
    if (!last || last->what != what || start < last->start || start > last->end + APART_NS)
        return 0;
    last->busy += end - start;
    last->largest = last->count == 1 ? last->busy : last->largest;
    last->end = last->end > end ? last->end : end;
    return 1;
}

enum err track_add(struct track *t, uint64_t start, uint64_t end, uint32_t what, size_t limit)
{
    struct track_event e = {start, end, end - start, end - start, 1, what};
    size_t at = t->count; /* ranges come when they end: an outer one goes before what was in it */
    while (at > 0 && t->events[at - 1].start > start)
        at--;
    if (at > 0 && event_is_near(t, &t->events[at - 1], &e)) {
        event_merge(&t->events[at - 1], &e);
        return ERR_OK;
    }
    TRY(array_room(&t->events, &t->room, t->count + 1, sizeof *t->events));
    memmove(&t->events[at + 1], &t->events[at], (t->count - at) * sizeof *t->events);
    t->events[at] = e;
    t->count++;
    if (t->count > limit + limit / 2)
        track_reduce(t, limit);
    return ERR_OK;
}

/* Keeps evenly spaced flows within a limit. */

enum err flows_add(struct flows *f, const struct flow *one)
{
    f->every = f->every ? f->every : 1;
    if (f->seen++ % f->every)
        return ERR_OK;
    if (f->list.count == FLOWS_MAX) {
        for (size_t i = 0; i < FLOWS_MAX / 2; i++)
            f->list.items[i] = f->list.items[2 * i];
        f->list.count = FLOWS_MAX / 2;
        f->every *= 2;
    }
    return vector_add(&f->list, *one);
}
