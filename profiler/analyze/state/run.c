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

void gpu_run_free(struct gpu_run *g)
{
    for (size_t i = 0; i < g->kernels.count; i++) {
        struct kernel *k = &g->kernels.items[i];
        for (size_t n = 0; n < k->variants.count; n++)
            dist_free(&k->variants.items[n].time);
        vector_free(&k->variants);
        vector_free(&k->launched_at);
        table_free(&k->launched_at_by_site);
    }
    for (size_t i = 0; i < g->devices.count; i++)
        vector_free(&g->devices.items[i].busy_intervals);
    struct counters *lists[] = {&g->transfers, &g->sets,   &g->apis,
                                &g->overheads, &g->faults, &g->syncs};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        counters_free(lists[i]);
    table_free(&g->kernel_by_name);
    vector_free(&g->kernels);
    vector_free(&g->devices);
    vector_free(&g->gaps);
    vector_free(&g->syncing);
    vector_free(&g->all_busy);
    vector_free(&g->inside);
    table_free(&g->inside_by_key);
}
