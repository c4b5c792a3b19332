/* Follows NVTX ranges as they open and close on each thread, and adds up their time by name. */
#include <stdlib.h>

#include "profiler/analyze/attribute/range_times.h"
#include "profiler/analyze/state/image.h"

enum { SAMPLES_MAX = 1000000 };
#define INSTANCES_MAX 1500000 /* for the projection on the device; 48 bytes each */

struct open_range {
    uint32_t instance, counter, detail; /* instance + 1, detail + 1 */
    uint64_t start, handle;
    int pushed;
};
struct range_thread {
    VECTOR(struct open_range) open;
    uint32_t track; /* + 1; 0 none yet */
};
struct ranges {
    VECTOR(struct range_thread) threads; /* as the image has them, those with ranges */
    VECTOR(struct instance) instances;
    VECTOR(struct range_counter) counters;
    struct table by_key;
    struct range_times cpu;
    uint32_t *rows; /* of each counter, in the run; after `attribute` */
};

static struct ranges *image_ranges(const struct image *im)
{
    return collector_state(im, &collector_ranges);
}

static void ranges_free(struct image *im, void *state)
{
    struct ranges *rs = state;
    (void)im;
    for (size_t i = 0; i < rs->threads.count; i++)
        vector_free(&rs->threads.items[i].open);
    for (size_t i = 0; i < rs->counters.count; i++)
        dist_free(&rs->counters.items[i].time);
    vector_free(&rs->threads);
    vector_free(&rs->counters);
    vector_free(&rs->instances);
    table_free(&rs->by_key);
    range_times_free(&rs->cpu);
    free(rs->rows);
}

enum style { STYLE_PUSH, STYLE_START, STYLE_MARK };
static const char *const styles[] = {"push_pop", "start_stop", "mark"};

/* *index: of its name, or with `of` (a counter + 1) of its payload. Beyond 100,000 names made from
 * counters the rest shares one. */
static enum err range_counter_of(struct ranges *rs, const struct trace_range *r, enum style style,
                                 uint32_t of, uint32_t *index)
{
    uint64_t key = table_mix(table_mix(r->domain, r->message), style);
    key = of ? table_mix(table_mix(key, of), r->payload) : key;
    *index = table_get(&rs->by_key, key);
    if (*index != TABLE_NONE)
        return ERR_OK;
    if (rs->counters.count >= 100000) {
        *index = of ? of - 1 : 0;
        return ERR_OK;
    }
    *index = (uint32_t)rs->counters.count;
    const struct range_counter row = {.domain = r->domain,
                                      .message = r->message,
                                      .payload = r->payload,
                                      .style = style,
                                      .of = of};
    TRY(vector_add(&rs->counters, row));
    return table_put(&rs->by_key, key, *index);
}

static enum err open_range(struct ranges *rs, size_t thread, const struct trace_range *r,
                           uint64_t time)
{
    struct range_thread *t = &rs->threads.items[thread];
    struct open_range o = {.start = time, .handle = r->handle, .pushed = r->op == TRACE_PUSH};
    const enum style style = o.pushed ? STYLE_PUSH : STYLE_START;
    TRY(range_counter_of(rs, r, style, 0, &o.counter));
    rs->counters.items[o.counter].opened++;
    if (r->payload_kind == TRACE_PAYLOAD_U64 && r->payload) {
        TRY(range_counter_of(rs, r, style, o.counter + 1, &o.detail));
        o.detail = o.detail == o.counter ? 0 : o.detail + 1;
    }
    if (rs->instances.count < INSTANCES_MAX) {
        uint32_t parent = t->open.count ? t->open.items[t->open.count - 1].instance : 0;
        TRY(vector_add(&rs->instances, (struct instance){.start = time,
                                                         .parent = parent,
                                                         .counter = o.counter,
                                                         .detail = o.detail,
                                                         .thread = (uint32_t)thread}));
        o.instance = (uint32_t)rs->instances.count;
    }
    TRY(vector_add(&t->open, o));
    return ERR_OK;
}

static enum err close_range(struct image *im, struct ranges *rs, size_t thread, size_t at,
                            uint64_t time)
{
    struct range_thread *t = &rs->threads.items[thread];
    struct open_range o = t->open.items[at];
    struct run *r = im->run;
    for (size_t i = at + 1; i < t->open.count; i++)
        t->open.items[i - 1] = t->open.items[i];
    t->open.count--;
    if (o.instance)
        rs->instances.items[o.instance - 1].end = time;
    time = time > o.start ? time : o.start;
    rs->counters.items[o.counter].closed++;
    TRY(dist_add(&rs->counters.items[o.counter].time, time - o.start));
    if (o.detail)
        TRY(dist_add(&rs->counters.items[o.detail - 1].time, time - o.start));
    if (!t->track) {
        int row = im->threads.items[thread].row;
        struct timeline_track *l = run_track(r, "range", im->index, row, -1, 0, 0);
        FAIL_IF(!l, ERR_MEMORY, "no memory for the timeline");
        t->track = (uint32_t)(l - r->timeline.items) + 1;
    }
    return track_add(&r->timeline.items[t->track - 1].track, o.start, time, o.counter,
                     run_track_limit(r));
}

static enum err pop_range(struct image *im, struct ranges *rs, size_t thread, uint64_t time)
{
    const struct range_thread *t = &rs->threads.items[thread];
    for (size_t i = t->open.count; i-- > 0;)
        if (t->open.items[i].pushed)
            return close_range(im, rs, thread, i, time);
    return ERR_OK;
}

/* Mostly on the thread that started it. */
static enum err stop_range(struct image *im, struct ranges *rs, size_t thread, uint64_t handle,
                           uint64_t time)
{
    for (size_t k = 0, n = rs->threads.count; k < n; k++) {
        const size_t other = (thread + k) % n;
        const struct range_thread *t = &rs->threads.items[other];
        for (size_t i = t->open.count; i-- > 0;)
            if (!t->open.items[i].pushed && t->open.items[i].handle == handle)
                return close_range(im, rs, other, i, time);
    }
    return ERR_OK;
}

static enum err ranges_record(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_range *r = (const void *)item->record;
    struct ranges *rs = state;
    struct thread *t;
    uint32_t index;
    TRY(image_thread(im, r->tid, &t));
    const size_t thread = (size_t)(t - im->threads.items);
    const uint64_t time = image_time(im, r->r.time_ns);
    TRY(vector_room(&rs->threads, im->threads.count));
    rs->threads.count = im->threads.count;
    switch (r->op) {
    case TRACE_PUSH:
    case TRACE_START:
        return open_range(rs, thread, r, time);
    case TRACE_POP:
        return pop_range(im, rs, thread, time);
    case TRACE_STOP:
        return stop_range(im, rs, thread, r->handle, time);
    case TRACE_MARK:
        TRY(range_counter_of(rs, r, STYLE_MARK, 0, &index));
        rs->counters.items[index].marks++;
        return ERR_OK;
    default:
        im->run->q.bad_values++;
        return ERR_OK;
    }
}

uint32_t range_now(const struct image *im, const struct thread *t)
{
    const struct ranges *rs = image_ranges(im);
    const size_t thread = (size_t)(t - im->threads.items);
    const struct range_thread *of = thread < rs->threads.count ? &rs->threads.items[thread] : NULL;
    return of && of->open.count ? of->open.items[of->open.count - 1].instance : 0;
}

void range_operation(struct image *im, uint32_t instance, uint64_t call, uint64_t start,
                     uint64_t end)
{
    struct ranges *rs = image_ranges(im);
    for (int depth = 0; instance && depth < 256; depth++) {
        struct instance *n = &rs->instances.items[instance - 1];
        instance = n->parent;
        if (n->end && n->end < call) /* a start/stop that had ended meanwhile */
            continue;
        n->first = n->last && n->first < start ? n->first : start;
        n->last = n->last > end ? n->last : end;
        rs->counters.items[n->counter].operations++;
        rs->counters.items[n->counter].gpu_sum += (double)(end - start);
    }
}

enum err range_spent(struct image *im, enum range_spent spent, uint64_t time, double weight,
                     uint32_t context)
{
    struct range_times *c = &image_ranges(im)->cpu;
    if (c->moments.count >= SAMPLES_MAX) {
        im->run->q.ranges_full++;
        return ERR_OK;
    }
    return vector_add(&c->moments, (struct moment){time, weight, context, spent});
}

static enum err ranges_finish(struct image *im, void *state)
{
    struct ranges *rs = state;
    return range_times_finish(im, &rs->cpu, rs->instances.items, rs->instances.count,
                              rs->counters.items);
}

/* Adds what a range of one payload took, which belongs to the run's row of its name. */
static enum err range_payload_add(struct run *r, uint32_t row, const struct range_counter *l)
{
    struct counter *t = counter_of(&r->ranges.payloads, NULL, NULL, row, (uint32_t)l->payload,
                                   (uint32_t)(l->payload >> 32), 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the ranges");
    t->cpu += l->cpu;
    t->wait += l->wait;
    return dist_merge(&t->time, &l->time);
}

/* The image's ranges become the run's. */
static enum err ranges_attribute(struct image *im, void *state)
{
    struct ranges *rs = state;
    struct run *r = im->run;
    uint32_t *rows = rs->rows = calloc(rs->counters.count + 1, sizeof *rows);
    FAIL_IF(!rows, ERR_MEMORY, "no memory for the analysis");
    enum err e = ERR_OK;
    for (size_t i = 0; i < rs->counters.count && e == ERR_OK; i++) {
        struct range_counter *l = &rs->counters.items[i];
        if (l->of) {
            e = range_payload_add(r, rows[l->of - 1], l);
            continue;
        }
        struct counter *t =
            counter_of(&r->ranges.names, run_text(r, image_string(im, l->domain)),
                       run_text(r, image_string(im, l->message)), l->style, 0, 0, 0);
        e = t ? dist_merge(&t->time, &l->time) : FAIL(ERR_MEMORY, "no memory for the ranges");
        if (e != ERR_OK)
            break;
        rows[i] = (uint32_t)(t - r->ranges.names.items);
        t->value += (double)l->marks;
        t->open += l->opened - l->closed;
        t->operations += (uint64_t)l->operations;
        t->gpu_sum += l->gpu_sum;
        t->cpu += l->cpu;
        t->wait += l->wait;
        t->ready += l->ready;
    }
    for (size_t i = 0; i < rs->instances.count && e == ERR_OK; i++)
        if (rs->instances.items[i].last)
            r->ranges.names.items[rows[rs->instances.items[i].counter]].gpu_projected +=
                (double)(rs->instances.items[i].last - rs->instances.items[i].first);
    for (size_t i = 0; i < rs->threads.count && e == ERR_OK; i++) {
        if (!rs->threads.items[i].track)
            continue;
        struct track *t = &r->timeline.items[rs->threads.items[i].track - 1].track;
        for (size_t k = 0; k < t->count; k++)
            t->events[k].what = rows[t->events[k].what];
    }
    if (e == ERR_OK)
        e = range_times_attribute(im, &rs->cpu, rows);
    return e;
}

enum err ranges_each(const struct image *im, range_visit *visit, void *context)
{
    const struct ranges *rs = image_ranges(im);
    for (size_t i = 0; rs->rows && i < rs->instances.count; i++) {
        const struct instance *n = &rs->instances.items[i];
        if (n->end > n->start)
            TRY(visit(context, rs->rows[n->counter], n->start, n->end));
    }
    return ERR_OK;
}

const char *range_style(uint32_t style)
{
    return styles[style % 3];
}

static const struct collected kinds[] = {{TRACE_RANGE, ranges_record, 1, 0}};
const struct collector collector_ranges = {.state_bytes = sizeof(struct ranges),
                                           COLLECTED(kinds),
                                           .finish = ranges_finish,
                                           .attribute = ranges_attribute,
                                           .free = ranges_free};
