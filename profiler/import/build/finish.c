/* The rest of an imported model: stacks, threads, the timeline, what is unknown and why, and the
 * checks that all sums are kept. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/build/flow_rows.h"
#include "profiler/import/build/internal.h"

#define TIMELINE_EVENTS 60000 /* of all tracks */

static enum err stack_rows(struct builder *b)
{
    struct model *m = b->m;
    TRY(model_list(m, model_frame, m, frames, b->frames.count));
    array_copy(m->frames, b->frames.items, b->frames.count, sizeof *m->frames);
    TRY(model_list(m, model_stack, m, stacks, b->nodes.count));
    for (size_t i = 0; i < b->nodes.count; i++) {
        const struct import_node *n = &b->nodes.items[i];
        m->stacks[i] = (struct model_stack){
            n->parent,
            n->frame,
            b->known[IMPORT_CPU] ? n->cost[IMPORT_CPU] + n->cost[IMPORT_SYS] : MODEL_UNKNOWN,
            b->known[IMPORT_WAIT] ? n->cost[IMPORT_WAIT] : MODEL_UNKNOWN,
            b->known[IMPORT_GPU] ? n->cost[IMPORT_GPU] : MODEL_UNKNOWN,
            b->known[IMPORT_ALLOC] ? n->cost[IMPORT_ALLOC] : MODEL_UNKNOWN};
    }
    return ERR_OK;
}

static double seconds_of(const struct builder *b, const double *ns, enum import_cost kind)
{
    return b->known[kind] ? ns[kind] * 1e-9 : (double)NAN;
}

static enum err thread_rows(struct builder *b)
{
    struct model *m = b->m;
    double(*sums)[IMPORT_COSTS] = calloc(b->threads.count + 1, sizeof *sums);
    FAIL_IF(!sums, ERR_MEMORY, "no memory for the import");
    for (size_t i = 0; i < b->nodes.count; i++)
        for (int k = 0; k < IMPORT_COSTS && b->nodes.items[i].thread >= 0; k++)
            sums[b->nodes.items[i].thread][k] += (double)b->nodes.items[i].cost[k];
    enum err e = model_list(m, model_thread, m, threads, b->threads.count);
    if (!e)
        e = model_list(m, model_process, m, processes, b->processes.count);
    if (!e)
        array_copy(m->processes, b->processes.items, b->processes.count, sizeof *m->processes);
    for (size_t i = 0; i < b->threads.count && !e; i++) {
        struct model_thread *t = &m->threads[i];
        *t = b->threads.items[i];
        t->user_s = seconds_of(b, sums[i], IMPORT_CPU);
        t->sys_s = seconds_of(b, sums[i], IMPORT_SYS);
        t->wait_s = seconds_of(b, sums[i], IMPORT_WAIT);
        struct model_process *p = &m->processes[t->process];
        double cpu = (sums[i][IMPORT_CPU] + sums[i][IMPORT_SYS]) * 1e-9;
        if (b->known[IMPORT_CPU])
            p->cpu_s = isfinite(p->cpu_s) ? p->cpu_s + cpu : cpu;
    }
    free(sums);
    return e;
}

static enum err timeline_rows(struct builder *b)
{
    size_t limit = b->tracks.count ? TIMELINE_EVENTS / b->tracks.count : 0;
    TRY(model_list(b->m, model_track, b->m, timeline, b->tracks.count));
    for (size_t i = 0; i < b->tracks.count; i++) {
        struct import_track *t = &b->tracks.items[i];
        struct model_track *row = &b->m->timeline[i];
        uint64_t before = 0;
        track_reduce(&t->track, limit > 64 ? limit : 64);
        *row = t->row;
        row->resolution_ns = (int64_t)t->track.resolution;
        TRY(model_list(b->m, model_event, row, events, t->track.count));
        for (size_t k = 0; k < t->track.count; k++) {
            const struct track_event *e = &t->track.events[k];
            row->events[k] =
                (struct model_event){(int64_t)(e->start - before), (int64_t)(e->end - e->start),
                                     (int64_t)e->busy, e->count, (int32_t)e->what};
            before = e->start;
        }
    }
    return ERR_OK;
}

/* What this source does not measure: its columns are null. */
static enum err unknown_items(struct builder *b)
{
    static const struct {
        enum import_cost kind;
        const char *id, *text;
    } rows[] = {
        {IMPORT_CPU, "import_no_cpu", "This capture holds no CPU time by stack."},
        {IMPORT_SYS, "import_no_system",
         "This capture does not tell user from system time: all of it is in user."},
        {IMPORT_WAIT, "import_no_wait", "This capture holds no waiting by stack."},
        {IMPORT_GPU, "import_no_gpu", "This capture holds no operations of a GPU."},
        {IMPORT_ALLOC, "import_no_memory", "This capture holds no allocations by stack."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (b->known[rows[i].kind] || (rows[i].kind == IMPORT_SYS && !b->known[IMPORT_CPU]))
            continue;
        TRY(builder_note(b, MODEL_UNKNOWN, rows[i].id, "info", rows[i].text,
                         "The columns are empty, which means unknown, not zero."));
    }
    return ERR_OK;
}

enum err rows_of_quality(struct builder *b)
{
    struct model_quality *q = &b->m->quality;
    double lines[IMPORT_COSTS] = {0}, modules[IMPORT_COSTS] = {0};
    static const char *const texts[IMPORT_COSTS] = {
        "CPU time of lines and modules adds up to that of the capture, ns",
        "system time of lines and modules adds up to that of the capture, ns",
        "waiting of lines and modules adds up to that of the capture, ns",
        "device time of lines and modules adds up to that of the capture, ns",
        "allocations of lines and modules add up to those of the capture, bytes"};
    static const char *const ids[IMPORT_COSTS] = {"cpu_kept", "system_kept", "wait_kept",
                                                  "gpu_kept", "alloc_kept"};
    for (int k = 0; k < IMPORT_COSTS; k++) {
        for (size_t i = 0; i < b->lines.count; i++)
            lines[k] += b->lines.items[i].line ? b->lines.items[i].self[k] : 0;
        for (size_t i = 0; i < b->modules.count; i++)
            modules[k] += b->modules.items[i].self[k];
        if (b->known[k])
            TRY(builder_check(b, ids[k], (double)b->added[k], lines[k] + modules[k], 0, texts[k]));
    }
    double all = (double)(b->added[IMPORT_CPU] + b->added[IMPORT_SYS]);
    if (all > 0)
        q->unattributed_cpu_share = (modules[IMPORT_CPU] + modules[IMPORT_SYS]) / all;
    TRY(unknown_items(b));
    q->complete = 1;
    for (size_t i = 0; i < b->items.count; i++)
        q->complete &= !strcmp(b->items.items[i].severity, "info");
    for (size_t i = 0; i < b->checks.count; i++)
        q->complete &= b->checks.items[i].ok;
    TRY(model_list(b->m, model_item, q, items, b->items.count));
    array_copy(q->items, b->items.items, b->items.count, sizeof *q->items);
    TRY(model_list(b->m, model_check, q, checks, b->checks.count));
    array_copy(q->checks, b->checks.items, b->checks.count, sizeof *q->checks);
    return ERR_OK;
}

ARRAY_ORDER(by_key, struct model_fact, strcmp(x->key, y->key));

enum err builder_finish(struct builder *b, struct model **out)
{
    struct model *m = b->m;
    if (!isfinite(m->meta.wall_s) && b->end > b->origin)
        m->meta.wall_s = 1e-9 * (double)(b->end - b->origin);
    m->meta.absolute_paths = 0;
    TRY(attribute_costs(b));
    TRY(rows_of_files(b));
    if (b->known[IMPORT_ALLOC])
        m->totals.alloc_mb = (double)b->added[IMPORT_ALLOC] / 1048576;
    TRY(rows_of_devices(b));
    TRY(stack_rows(b));
    TRY(thread_rows(b));
    TRY(timeline_rows(b));
    TRY(flow_rows(m, &b->flows));
    TRY(rows_of_quality(b));
    vector_sort(&b->facts, by_key);
    TRY(model_list(m, model_fact, m, environment, b->facts.count));
    array_copy(m->environment, b->facts.items, b->facts.count, sizeof *m->environment);
    *out = m;
    b->m = NULL;
    return ERR_OK;
}
