/* The run's own helpers: texts that live as long as its model, sums of costs, tracks of the
 * timeline. */
#include "profiler/analyze/state/run.h"

const char *run_text(struct run *r, const char *s)
{
    return arena_text(r->m->arena, s);
}

void sums_add(struct sums *to, const struct sums *from)
{
    double *a = (double *)to;
    const double *b = (const double *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *a; i++)
        a[i] += b[i];
}

size_t run_track_limit(const struct run *r)
{
    size_t share = TRACKS_EVENTS / (r->lanes_count + 1);
    if (share > TRACK_EVENTS)
        return TRACK_EVENTS;
    return share > TRACK_EVENTS_LEAST ? share : TRACK_EVENTS_LEAST;
}

struct lane *run_lane(struct run *r, const char *kind, int process, int thread, int device,
                      uint32_t context, uint32_t stream)
{
    if (array_room(&r->lanes, &r->lanes_room, r->lanes_count + 1, sizeof *r->lanes) != ERR_OK)
        return NULL;
    struct lane *l = &r->lanes[r->lanes_count++];
    *l = (struct lane){kind, process, thread, device, context, stream, {0}};
    return l;
}
