/* The tree of stacks and the tracks of the timeline, as rows of the model. */
#include <string.h>

#include "profiler/analyze/build/build.h"
#include "profiler/analyze/common/track.h"
#include "profiler/analyze/model/model.h"

/* Flows as rows of the model. */

static enum err flow_rows(struct model *m, const struct flows *flows)
{
    TRY(model_list(m, model_flow, m, flows, flows->list.count));
    for (size_t i = 0; i < flows->list.count; i++) {
        const struct flow *f = &flows->list.items[i];
        m->flows[i] =
            (struct model_flow){f->thread,       (int64_t)f->called, f->kind,          f->device,
                                f->cuda_context, f->stream,          (int64_t)f->began};
    }
    return ERR_OK;
}

static int64_t timeline_integer(double v)
{
    return v < 9e15 ? (int64_t)v : MODEL_UNKNOWN;
}

enum err build_stacks(struct run *r)
{
    struct model *m = r->m;
    TRY(model_list(m, model_frame, m, frames, r->frames.count));
    for (size_t i = 0; i < r->frames.count; i++) {
        const struct tree_frame *f = &r->frames.items[i];
        uint32_t kernel = strcmp(f->kind, "kernel")
                              ? TABLE_NONE
                              : table_get(&r->gpu.kernel_by_name, (uintptr_t)f->function);
        const char *name =
            kernel == TABLE_NONE ? f->function : m->kernels[r->gpu.kernels.items[kernel].rank].name;
        m->frames[i] =
            (struct model_frame){name,      f->file, f->line > 0 ? f->line : MODEL_UNKNOWN,
                                 f->module, f->kind, f->thread - 1};
    }
    TRY(model_list(m, model_stack, m, stacks, r->nodes.count));
    for (size_t i = 0; i < r->nodes.count; i++) {
        const struct tree_node *n = &r->nodes.items[i];
        m->stacks[i] =
            (struct model_stack){n->parent == TABLE_NONE ? -1 : (int32_t)n->parent,
                                 (int32_t)n->frame,
                                 timeline_integer(n->cpu),
                                 timeline_integer(n->wait),
                                 timeline_integer(n->gpu),
                                 timeline_integer(n->alloc),
                                 r->has_heap ? timeline_integer(n->peak) : MODEL_UNKNOWN};
    }
    return ERR_OK;
}

static enum err track_rows(struct run *r, const struct timeline_track *l, struct model_track *row)
{
    const struct track *t = &l->track;
    row->kind = l->kind;
    row->process = l->process;
    row->thread = l->thread;
    row->device = l->device;
    if (l->device >= 0) {
        row->context = l->cuda_context;
        row->stream = l->stream;
    }
    row->resolution_ns = (int64_t)t->resolution;
    TRY(model_list(r->m, model_event, row, events, t->count));
    uint64_t before = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct track_event *e = &t->events[i];
        row->events[i] =
            (struct model_event){(int64_t)(e->start - before), (int64_t)(e->end - e->start),
                                 timeline_integer((double)e->busy), e->count, (int32_t)e->what};
        before = e->start;
    }
    return ERR_OK;
}

/* Events that are left when no track keeps more than `limit`. */
static size_t events_within(const struct run *r, size_t limit)
{
    size_t total = 0;
    for (size_t i = 0; i < r->timeline.count; i++)
        total +=
            r->timeline.items[i].track.count < limit ? r->timeline.items[i].track.count : limit;
    return total;
}

enum err build_timeline(struct run *r)
{
    size_t limit = TRACK_EVENTS;
    while (events_within(r, limit) > TRACKS_EVENTS && limit > 16)
        limit -= limit / 8;
    TRY(model_list(r->m, model_track, r->m, timeline, r->timeline.count));
    for (size_t i = 0; i < r->timeline.count; i++) {
        track_reduce(&r->timeline.items[i].track, limit);
        TRY(track_rows(r, &r->timeline.items[i], &r->m->timeline[i]));
    }
    return flow_rows(r->m, &r->flows);
}
