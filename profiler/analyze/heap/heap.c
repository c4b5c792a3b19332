/* Replays sampled allocations and releases in order of time, for live memory, peaks and the
 * curves of lines. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/attribute/cpu.h"
#include "profiler/analyze/heap/curves.h"
#include "profiler/analyze/state/collector.h"

enum { SERIES_POINTS = 1000 };
enum event_kind { EVENT_ALLOC, EVENT_FREE, EVENT_MAP, EVENT_UNMAP };

/* Allocations in the order of their reading; replayed in order of time at the end of the file. */
struct heap_event {
    uint64_t time, address, bytes;
    double weight;
    uint32_t context : 28, kind : 2;
    uint32_t later : 1; /* counted at the end, when its line is known */
    uint32_t order;
};
struct live {
    uint64_t address, bytes;
    double weight;
    uint32_t context, map;
};
struct point {
    uint64_t time;
    double rss, heap;
};
struct heap {
    VECTOR(struct heap_event) events;
    VECTOR(struct point) points;
    uint64_t ending;  /* of the interpreter, which frees all from then on; 0 unknown */
    uint64_t spacing; /* points closer than this are merged, keeping the larger */
    double peak_rss;
};

static void heap_state_free(struct image *im, void *state)
{
    struct heap *h = state;
    (void)im;
    vector_free(&h->events);
    vector_free(&h->points);
}

static void heap_count_event(struct image *im, const struct heap_event *e)
{
    struct costs *s = &im->contexts.items[e->context].costs;
    double bytes = (double)e->bytes, n = bytes > 0 ? e->weight / bytes : 1;
    s->alloc += e->weight;
    s->allocs += n;
    s->alloc_variance += fmax(0, e->weight * (e->weight - bytes));
    s->allocs_variance += fmax(0, n * (n - 1));
}

static enum err heap_add_event(struct image *im, struct heap *h, struct heap_event e)
{
    if (h->events.count >= HEAP_EVENTS_MAX) {
        im->run->q.heap_full++;
        if (e.later)
            heap_count_event(im, &e);
        return ERR_OK;
    }
    e.order = (uint32_t)h->events.count;
    return vector_add(&h->events, e);
}

static enum err heap_alloc(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_alloc *a = (const void *)item->record;
    uint32_t context;
    im->run->q.stacks++;
    if (!isfinite(a->weight) || a->weight < 0 || a->weight > 1e18 || a->bytes > 1ull << 53) {
        im->run->q.bad_values++;
        return ERR_OK;
    }
    TRY(image_context(im, a->tid, a->stack, 0, &context));
    const struct thread *t = &im->threads.items[im->contexts.items[context].thread];
    struct heap_event e = {.time = image_time(im, a->r.time_ns),
                           .address = a->address,
                           .bytes = a->bytes,
                           .weight = a->weight,
                           .context = context,
                           .kind = a->heap == TRACE_MMAP ? EVENT_MAP : EVENT_ALLOC,
                           .later = im->program.python && !t->main};
    if (!e.later)
        heap_count_event(im, &e);
    return heap_add_event(im, state, e);
}

/* Threads without Python of a process with an interpreter: as their CPU time in cpu.c. */
static enum err heap_finish(struct image *im, void *state)
{
    struct heap *h = state;
    for (size_t i = 0; i < h->events.count; i++) {
        struct heap_event *e = &h->events.items[i];
        if (!e->later)
            continue;
        const struct sample_context *s = &im->contexts.items[e->context];
        uint32_t context,
            borrow = im->stacks.items[s->stack].python ? 0 : cpu_main_stack(im, e->time);
        TRY(image_context_at(im, s->thread, s->stack, borrow, &context));
        e->context = context;
        heap_count_event(im, e);
    }
    return ERR_OK;
}

static enum err heap_free(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_free *f = (const void *)item->record;
    int map = f->heap == TRACE_MMAP;
    return heap_add_event(im, state,
                          (struct heap_event){image_time(im, f->r.time_ns), f->address, f->bytes, 0,
                                              0, map ? EVENT_UNMAP : EVENT_FREE, 0, 0});
}

static enum err heap_copy(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_copy *c = (const void *)item->record;
    uint32_t context;
    (void)state;
    if (!isfinite(c->weight) || c->weight < 0 || c->weight > 1e18) {
        im->run->q.bad_values++;
        return ERR_OK;
    }
    TRY(image_context(im, c->tid, c->stack, 0, &context));
    im->contexts.items[context].costs.copied += c->weight;
    return ERR_OK;
}

static enum err heap_ending(struct image *im, void *state, const struct trace_item *item)
{
    struct heap *h = state;
    const char *value;
    TRY(collector_fact(im, item, "ending", &value));
    if (value)
        h->ending = image_time(im, item->record->time_ns);
    return ERR_OK;
}

static void heap_thin_points(struct heap *h)
{
    uint64_t span = h->points.items[h->points.count - 1].time - h->points.items[0].time;
    h->spacing = span / (SERIES_POINTS / 2) + 1;
    size_t kept = 0;
    for (size_t i = 1; i < h->points.count; i++) {
        struct point *last = &h->points.items[kept], *p = &h->points.items[i];
        if (p->time - last->time < h->spacing) {
            last->rss = fmax(last->rss, p->rss);
            last->heap = fmax(last->heap, p->heap);
        } else {
            h->points.items[++kept] = *p;
        }
    }
    h->points.count = kept + 1;
}

static enum err heap_record_footprint(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_footprint *f = (const void *)item->record;
    struct heap *h = state;
    uint64_t time = image_time(im, f->r.time_ns);
    struct point *last = h->points.count ? &h->points.items[h->points.count - 1] : NULL;
    if (f->rss > 1ull << 53 || f->heap_live > 1ull << 53) {
        im->run->q.bad_values++;
        return ERR_OK;
    }
    h->peak_rss = fmax(h->peak_rss, (double)f->rss);
    if (last && (time <= last->time || time - last->time < h->spacing)) {
        last->rss = fmax(last->rss, (double)f->rss);
        last->heap = fmax(last->heap, (double)f->heap_live);
        return ERR_OK;
    }
    TRY(vector_add(&h->points, (struct point){time, (double)f->rss, (double)f->heap_live}));
    if (h->points.count > SERIES_POINTS)
        heap_thin_points(h);
    return ERR_OK;
}

ARRAY_ORDER(by_time, struct heap_event, COMPARE(x->time, y->time) ?: COMPARE(x->order, y->order));

/* State of a replay. */
struct replay {
    struct image *im;
    const struct heap *heap;
    struct table by_address;
    VECTOR(struct live) live;
    VECTOR(uint32_t) free; /* indices in `live` */
    size_t maps;
    struct live_heap all;
    double peak;
    uint64_t peak_time;
    size_t peak_events; /* that were played until then */
};

static void heap_change_site(struct run *r, int site, struct live_heap_change c, uint64_t time)
{
    if (site < 0)
        return;
    struct live_heap *h = &r->sites.items[site].heap;
    uint64_t since = h->since;
    curve_raise(r, &r->sites.items[site], since, time, live_heap_apply(h, c, time));
    curve_raise(r, &r->sites.items[site], time, time, live_heap_estimate(h, time));
}

static void replay_change(struct replay *p, uint32_t context, struct live_heap_change c,
                          uint64_t time)
{
    heap_change_site(p->im->run, p->im->contexts.items[context].site, c, time);
    heap_change_site(p->im->run, p->im->contexts.items[context].function, c, time);
    live_heap_apply(&p->all, c, time);
}

static void replay_leave(struct replay *p, const struct live *l, uint64_t time)
{
    replay_change(p, l->context, live_heap_block(l->weight, (double)l->bytes, -1), time);
}

static void see_peak(struct replay *p, double estimate, uint64_t time, size_t events)
{
    if (!(estimate > p->peak))
        return;
    p->peak = estimate;
    p->peak_time = time;
    p->peak_events = events;
}

static enum err replay_alloc(struct replay *p, const struct heap_event *e)
{
    uint32_t at = table_get(&p->by_address, e->address);
    if (at != TABLE_NONE) { /* its free was lost */
        p->im->run->q.no_free++;
        p->maps -= p->live.items[at].map;
        replay_leave(p, &p->live.items[at], e->time);
    } else {
        if (p->free.count) {
            at = vector_pop(&p->free);
        } else {
            at = (uint32_t)p->live.count;
            TRY(vector_add(&p->live, (struct live){0}));
        }
        TRY(table_put(&p->by_address, e->address, at));
    }
    p->live.items[at] =
        (struct live){e->address, e->bytes, e->weight, e->context, e->kind == EVENT_MAP};
    p->maps += e->kind == EVENT_MAP;
    replay_change(p, e->context, live_heap_block(e->weight, (double)e->bytes, 1), e->time);
    return ERR_OK;
}

static enum err replay_forget(struct replay *p, uint32_t at, uint64_t time)
{
    struct live *l = &p->live.items[at];
    p->maps -= l->map;
    replay_leave(p, l, time);
    table_remove(&p->by_address, l->address);
    *l = (struct live){0};
    TRY(vector_add(&p->free, at));
    return ERR_OK;
}

/* Takes [address, address + bytes) out of all mappings, where there are not too many. */
static enum err replay_unmap(struct replay *p, const struct heap_event *e)
{
    if (!p->maps || p->live.count > 100000)
        return ERR_OK;
    for (uint32_t i = 0; i < p->live.count; i++) {
        struct live *l = &p->live.items[i];
        uint64_t from = e->address > l->address ? e->address : l->address;
        uint64_t end = e->address + e->bytes, l_end = l->address + l->bytes;
        uint64_t to = end < l_end ? end : l_end;
        if (!l->map || !l->bytes || from >= to)
            continue;
        if (to - from == l->bytes) {
            TRY(replay_forget(p, i, e->time));
            continue;
        }
        struct live_heap_change whole = live_heap_block(l->weight, (double)l->bytes, 1);
        l->weight -= l->weight * (double)(to - from) / (double)l->bytes;
        l->bytes -= to - from;
        struct live_heap_change rest = live_heap_block(l->weight, (double)l->bytes, 1);
        replay_change(p, l->context,
                      (struct live_heap_change){rest.weight - whole.weight,
                                                rest.bytes - whole.bytes,
                                                rest.squared - whole.squared, 0},
                      e->time);
        if (from == l->address) { /* its begin goes: it lives on at `to` */
            table_remove(&p->by_address, l->address);
            l->address = to;
            TRY(table_put(&p->by_address, l->address, i));
        }
    }
    return ERR_OK;
}

static enum err replay_event(struct replay *p, const struct heap_event *e)
{
    if (e->kind == EVENT_ALLOC || e->kind == EVENT_MAP)
        return replay_alloc(p, e);
    uint32_t at = table_get(&p->by_address, e->address);
    if (at != TABLE_NONE && (e->kind == EVENT_FREE || e->bytes == p->live.items[at].bytes))
        return replay_forget(p, at, e->time);
    return e->kind == EVENT_UNMAP && e->bytes ? replay_unmap(p, e) : ERR_OK;
}

static void finish_live_heap(struct run *r, struct site *s, uint64_t end)
{
    struct live_heap *h = &s->heap;
    double end_live = h->live;
    uint64_t since = h->since;
    if (end > since) {
        curve_raise(r, s, since, end, live_heap_apply(h, (struct live_heap_change){0}, end));
        double mean = (h->integral - h->begun) / (double)end;
        if (mean > h->peak) { /* no peak is below the mean of all the time */
            curve_raise(r, s, h->first, end, mean);
            h->peak = mean;
        }
    }
    *h = (struct live_heap){.peak = h->peak,
                            .at_peak = h->at_peak,
                            .integral = h->integral,
                            .begun = h->integral,
                            .end = h->end + end_live,
                            .first = h->first,
                            .allocs = h->allocs,
                            .frees = h->frees};
}

/* Replays the first `count` events. */
static enum err heap_replay(struct replay *p, size_t count)
{
    const struct heap_event *events = p->heap->events.items;
    for (size_t i = 0; i < count; i++) {
        uint64_t time = events[i].time;
        see_peak(p, live_heap_estimate(&p->all, time), time, i);
        TRY(replay_event(p, &events[i]));
        see_peak(p, live_heap_estimate(&p->all, time), time, i + 1);
    }
    return ERR_OK;
}

static void free_replay(struct replay *p)
{
    table_free(&p->by_address);
    vector_free(&p->live);
    vector_free(&p->free);
}

/* Live bytes of every site and stack at the peak: a second replay up to it. */
static enum err attribute_peak(struct image *im, const struct replay *whole)
{
    struct run *r = im->run;
    struct live_heap *saved = calloc(r->sites.count + 1, sizeof *saved);
    FAIL_IF(!saved, ERR_MEMORY, "no memory for the analysis");
    for (size_t i = 0; i < r->sites.count; i++) {
        saved[i] = r->sites.items[i].heap;
        r->sites.items[i].heap = (struct live_heap){0};
    }
    struct replay p = {.im = im, .heap = whole->heap};
    uint64_t no_free = r->q.no_free;
    enum err e = heap_replay(&p, whole->peak_events);
    r->q.no_free = no_free;
    for (size_t i = 0; i < r->sites.count; i++) {
        double live = live_heap_estimate(&r->sites.items[i].heap, whole->peak_time);
        r->sites.items[i].heap = saved[i];
        r->sites.items[i].heap.at_peak = live;
    }
    for (size_t i = 0; i < r->nodes.count; i++) /* those of a smaller process */
        r->nodes.items[i].peak = 0;
    for (size_t i = 0; i < p.live.count; i++) {
        const struct live *l = &p.live.items[i];
        if (l->address)
            r->nodes.items[im->contexts.items[l->context].node].peak += l->weight;
    }
    free_replay(&p);
    free(saved);
    if (whole->peak > r->heap.largest) {
        r->heap.largest = whole->peak;
        r->m->memory.peak_s = (double)whole->peak_time * 1e-9;
    }
    return e;
}

static enum err write_series(struct image *im, const struct heap *h, double peak_heap)
{
    struct run *r = im->run;
    struct model_process *row = &r->processes.items[im->index];
    if (h->points.count)
        row->peak_rss_mb = h->peak_rss / 1048576;
    if (h->events.count)
        row->peak_heap_mb = peak_heap / 1048576;
    if (!h->points.count)
        return ERR_OK;
    TRY(vector_add(&r->heap.series, (struct model_series){.process = im->index}));
    struct model_series *s = &r->heap.series.items[r->heap.series.count - 1];
    size_t bytes = h->points.count * sizeof(double);
    s->t_s = arena_take(r->m->arena, bytes);
    s->rss_mb = arena_take(r->m->arena, bytes);
    s->heap_mb = arena_take(r->m->arena, bytes);
    FAIL_IF(!s->t_s || !s->rss_mb || !s->heap_mb, ERR_MEMORY, "no memory for the profile");
    s->t_s_count = s->rss_mb_count = s->heap_mb_count = (int)h->points.count;
    for (size_t i = 0; i < h->points.count; i++) {
        s->t_s[i] = (double)h->points.items[i].time * 1e-9;
        s->rss_mb[i] = h->points.items[i].rss / 1048576;
        s->heap_mb[i] = h->points.items[i].heap / 1048576;
    }
    return ERR_OK;
}

static enum err heap_attribute(struct image *im, void *state)
{
    struct run *r = im->run;
    struct heap *h = state;
    struct replay p = {.im = im, .heap = h};
    uint64_t end = image_end(im) - r->origin;
    TRY(curves_reach(r, end));
    vector_sort(&h->events, by_time);
    size_t count = h->events.count; /* what lives when the main program ends was kept */
    if (h->ending)
        count = ARRAY_BOUND(0, count, i, h->events.items[i].time <= h->ending);
    enum err e = heap_replay(&p, count);
    see_peak(&p, live_heap_estimate(&p.all, end), end, count);
    int largest = p.peak > r->heap.largest;
    for (size_t i = 0; i < r->sites.count; i++)
        finish_live_heap(r, &r->sites.items[i], end);
    free_replay(&p);
    if (e == ERR_OK && h->events.count && largest)
        e = attribute_peak(im, &p);
    return e == ERR_OK ? write_series(im, h, p.peak) : e;
}

static const struct collected kinds[] = {
    {TRACE_ALLOC, heap_alloc, 1, COLLECTED_FLAG(has_heap)},
    {TRACE_FREE, heap_free, 1, 0},
    {TRACE_COPY, heap_copy, 1, COLLECTED_FLAG(has_copies)},
    {TRACE_FOOTPRINT, heap_record_footprint, 1, 0},
    {TRACE_META, heap_ending, 0, 0},
};
const struct collector collector_heap = {.state_bytes = sizeof(struct heap),
                                         COLLECTED(kinds),
                                         .finish = heap_finish,
                                         .attribute = heap_attribute,
                                         .free = heap_state_free};
