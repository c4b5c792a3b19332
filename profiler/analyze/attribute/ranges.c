/* Follows NVTX ranges as they open and close on each thread, and adds up their time by name. */
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/state/image.h"

/* Finds the ranges that were open at each CPU sample, by binary search in the instances of its
 * thread. */

/* A time that a range was open, with the device operations launched inside on its thread. */
struct instance {
    uint64_t start, end; /* of the range on the host; end 0: open */
    uint64_t first, last;
    uint32_t parent, counter; /* parent + 1 */
    uint32_t thread;
};
/* Time of a context inside a range; outer_ns: part of the CPU time where that was the outermost one. */
struct inside {
    uint32_t context, counter;
    double ns, outer_ns, wait_ns;
};
struct moment { /* a CPU sample, or a wait that ended then */
    uint64_t time;
    double weight;
    uint32_t context;
    enum range_spent spent;
};
struct range_counter { /* of one name */
    uint64_t domain, message;
    uint32_t style;
    uint64_t marks, opened, closed;
    double operations, gpu_sum, cpu, wait, ready;
    struct dist time;
};
struct range_cpu {
    VECTOR(struct moment) moments;
    VECTOR(struct inside) pairs;
    struct table by_pair;
};

enum { SAMPLES_MAX = 1000000, PAIRS_MAX = 200000 };

static void range_cpu_free(struct range_cpu *c)
{
    vector_free(&c->moments);
    vector_free(&c->pairs);
    table_free(&c->by_pair);
}

/* Instances of each thread, in the order of their starts: of[first[t]] to of[first[t + 1]]. */
struct by_thread {
    uint32_t *of;
    size_t *first;
};

static enum err sort_instances(const struct image *im, const struct instance *instances, size_t n,
                               struct by_thread *out)
{
    size_t threads = im->threads.count;
    out->of = calloc(n + 1, sizeof *out->of);
    out->first = calloc(threads + 2, sizeof *out->first);
    FAIL_IF(!out->of || !out->first, ERR_MEMORY, "no memory for the analysis");
    for (size_t i = 0; i < n; i++)
        out->first[instances[i].thread + 2]++;
    for (size_t t = 0; t < threads; t++)
        out->first[t + 2] += out->first[t + 1];
    for (size_t i = 0; i < n; i++)
        out->of[out->first[instances[i].thread + 1]++] = (uint32_t)i;
    return ERR_OK;
}

/* The last instance that began before `time`, + 1; it or one of its parents is open then, if any
 * is. */
static uint32_t last_before(const struct by_thread *list, const struct instance *instances,
                            size_t thread, uint64_t time)
{
    const size_t begin = list->first[thread];
    const size_t end =
        ARRAY_BOUND(begin, list->first[thread + 1], i, instances[list->of[i]].start <= time);
    return end > begin ? list->of[end - 1] + 1 : 0;
}

/* *out NULL: there are too many. */
static enum err range_pair(struct image *im, struct range_cpu *c, uint32_t context,
                           uint32_t counter, struct inside **out)
{
    *out = NULL;
    uint64_t key = table_mix(context, counter);
    uint32_t at = table_get(&c->by_pair, key);
    if (at == TABLE_NONE) {
        if (c->pairs.count >= PAIRS_MAX) {
            im->run->q.ranges_full++;
            return ERR_OK;
        }
        at = (uint32_t)c->pairs.count;
        TRY(vector_add(&c->pairs, (struct inside){.context = context, .counter = counter}));
        TRY(table_put(&c->by_pair, key, at));
    }
    *out = &c->pairs.items[at];
    return ERR_OK;
}

/* The part of a moment that lies in an instance: all of a sample, what overlaps of a wait. */
static double moment_within(const struct moment *m, const struct instance *r)
{
    if (m->spent == RANGE_CPU)
        return m->weight;
    const double end = (double)m->time, start = end - m->weight;
    const double first = (double)r->start, last = r->end ? (double)r->end : end;
    return (end < last ? end : last) - (start > first ? start : first);
}

/* Adds a moment to all ranges that were open then. */
static enum err range_moment_add(struct image *im, struct range_cpu *c, const struct moment *m,
                                 const struct instance *instances, uint32_t at,
                                 struct range_counter *counters)
{
    struct inside *outermost = NULL;
    const uint64_t half = m->spent == RANGE_CPU ? 0 : (uint64_t)(m->weight / 2);
    for (; at; at = instances[at - 1].parent) {
        const struct instance *r = &instances[at - 1];
        if (r->end && r->end + half < m->time)
            continue;
        const double ns = moment_within(m, r);
        struct range_counter *counter = &counters[r->counter];
        struct inside *pair;
        *(m->spent == RANGE_CPU    ? &counter->cpu
          : m->spent == RANGE_WAIT ? &counter->wait
                                   : &counter->ready) += ns;
        if (m->spent == RANGE_READY)
            continue;
        TRY(range_pair(im, c, m->context, r->counter, &pair));
        if (pair)
            *(m->spent == RANGE_CPU ? &pair->ns : &pair->wait_ns) += ns;
        outermost = pair;
    }
    if (outermost && m->spent == RANGE_CPU)
        outermost->outer_ns += m->weight;
    return ERR_OK;
}

/* Makes the pairs, and adds each moment to the counters of all ranges around it. A thread without
 * ranges computes for the main thread's. */
static enum err range_cpu_finish(struct image *im, struct range_cpu *c,
                                 const struct instance *instances, size_t n,
                                 struct range_counter *counters)
{
    struct by_thread list = {0};
    size_t main = 0;
    if (!n || !c->moments.count)
        return ERR_OK;
    while (main + 1 < im->threads.count && !im->threads.items[main].main)
        main++;
    enum err e = sort_instances(im, instances, n, &list);
    for (size_t i = 0; i < c->moments.count && e == ERR_OK; i++) {
        const struct moment *m = &c->moments.items[i];
        size_t thread = im->contexts.items[m->context].thread;
        if (list.first[thread] == list.first[thread + 1]) {
            if (m->spent != RANGE_CPU)
                continue;
            thread = main;
        }
        const uint64_t half = m->spent == RANGE_CPU ? 0 : (uint64_t)(m->weight / 2);
        const uint32_t at = last_before(&list, instances, thread, m->time - half);
        e = range_moment_add(im, c, m, instances, at, counters);
    }
    free(list.of);
    free(list.first);
    return e;
}

static enum err range_site_add(struct run *r, uint32_t site, uint32_t range,
                               const struct inside *pair)
{
    uint64_t key = table_mix((uint64_t)site, range);
    uint32_t at = table_get(&r->ranges.inside_by_key, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)r->ranges.inside.count;
        TRY(vector_add(&r->ranges.inside, (struct in_range){site, range, 0, 0}));
        TRY(table_put(&r->ranges.inside_by_key, key, at));
    }
    r->ranges.inside.items[at].ns += pair->outer_ns;
    r->ranges.inside.items[at].all_ns += pair->ns;
    return ERR_OK;
}

static enum err range_own_add(struct run *r, uint32_t own, uint32_t range,
                              const struct inside *pair)
{
    uint64_t key = table_mix((uint64_t)own, range);
    uint32_t at = table_get(&r->ranges.own_by_key, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)r->ranges.own.count;
        TRY(vector_add(&r->ranges.own, (struct own_in_range){own, range, 0, 0}));
        TRY(table_put(&r->ranges.own_by_key, key, at));
    }
    r->ranges.own.items[at].cpu += pair->ns;
    r->ranges.own.items[at].wait += pair->wait_ns;
    return ERR_OK;
}

/* The pairs become the run's: sites, rows of own code, and rows[counter]. */
static enum err range_cpu_attribute(struct image *im, const struct range_cpu *c,
                                    const uint32_t *rows)
{
    for (size_t i = 0; i < c->pairs.count; i++) {
        const struct inside *pair = &c->pairs.items[i];
        const struct sample_context *context = &im->contexts.items[pair->context];
        if (context->site >= 0 && pair->ns > 0)
            TRY(range_site_add(im->run, (uint32_t)context->site, rows[pair->counter], pair));
        TRY(range_own_add(im->run, context->own, rows[pair->counter], pair));
    }
    return ERR_OK;
}

#define INSTANCES_MAX 1500000 /* for the projection on the device; 48 bytes each */

struct open_range {
    uint32_t instance, counter; /* instance + 1 */
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
    struct range_cpu cpu;
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
    range_cpu_free(&rs->cpu);
    free(rs->rows);
}

enum style { STYLE_PUSH, STYLE_START, STYLE_MARK };
static const char *const styles[] = {"push_pop", "start_stop", "mark"};

static enum err range_counter_of(struct ranges *rs, const struct trace_range *r, enum style style,
                                 uint32_t *index)
{
    uint64_t key = table_mix(table_mix(r->domain, r->message), style);
    *index = table_get(&rs->by_key, key);
    if (*index != TABLE_NONE)
        return ERR_OK;
    if (rs->counters.count >= 100000) { /* names made from counters: the rest shares one */
        *index = 0;
        return ERR_OK;
    }
    *index = (uint32_t)rs->counters.count;
    TRY(vector_add(&rs->counters, (struct range_counter){
                                      .domain = r->domain, .message = r->message, .style = style}));
    return table_put(&rs->by_key, key, *index);
}

static enum err open_range(struct ranges *rs, size_t thread, const struct trace_range *r,
                           uint64_t time)
{
    struct range_thread *t = &rs->threads.items[thread];
    struct open_range o = {.start = time, .handle = r->handle, .pushed = r->op == TRACE_PUSH};
    TRY(range_counter_of(rs, r, o.pushed ? STYLE_PUSH : STYLE_START, &o.counter));
    rs->counters.items[o.counter].opened++;
    if (rs->instances.count < INSTANCES_MAX) {
        uint32_t parent = t->open.count ? t->open.items[t->open.count - 1].instance : 0;
        TRY(vector_add(&rs->instances, (struct instance){.start = time,
                                                         .parent = parent,
                                                         .counter = o.counter,
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
        TRY(range_counter_of(rs, r, STYLE_MARK, &index));
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
    struct range_cpu *c = &image_ranges(im)->cpu;
    if (c->moments.count >= SAMPLES_MAX) {
        im->run->q.ranges_full++;
        return ERR_OK;
    }
    return vector_add(&c->moments, (struct moment){time, weight, context, spent});
}

static enum err ranges_finish(struct image *im, void *state)
{
    struct ranges *rs = state;
    return range_cpu_finish(im, &rs->cpu, rs->instances.items, rs->instances.count,
                            rs->counters.items);
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
        e = range_cpu_attribute(im, &rs->cpu, rows);
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
