/* The run's own helpers: texts that live as long as its model, sums of costs, tracks of the
 * timeline. */
#include "profiler/analyze/state/run.h"

const char *run_text(struct run *r, const char *s)
{
    return arena_text(r->m->arena, s);
}

void costs_add(struct costs *to, const struct costs *from)
{
    double *a = (double *)to;
    const double *b = (const double *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *a; i++)
        a[i] += b[i];
}

size_t run_track_limit(const struct run *r)
{
    size_t share = TRACKS_EVENTS / (r->timeline.count + 1);
    if (share > TRACK_EVENTS)
        return TRACK_EVENTS;
    return share > TRACK_EVENTS_LEAST ? share : TRACK_EVENTS_LEAST;
}

struct timeline_track *run_track(struct run *r, const char *kind, int process, int thread,
                                 int device, int64_t cuda_context, int64_t stream)
{
    enum err e = vector_add(
        &r->timeline,
        (struct timeline_track){kind, process, thread, device, cuda_context, stream, {0}});
    return e == ERR_OK ? &r->timeline.items[r->timeline.count - 1] : NULL;
}
