/* Finds the ranges that were open at each CPU sample and wait, by binary search in the instances of
 * its thread. */
#include <stdlib.h>

#include "profiler/analyze/attribute/range_times.h"
#include "profiler/analyze/state/image.h"

enum { PAIRS_MAX = 200000 };

void range_times_free(struct range_times *c)
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
static enum err range_pair(struct image *im, struct range_times *c, uint32_t context,
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

static void counter_spend(struct range_counter *c, enum range_spent spent, double ns)
{
    *(spent == RANGE_CPU ? &c->cpu : spent == RANGE_WAIT ? &c->wait : &c->ready) += ns;
}

/* Adds a moment to all ranges that were open then. */
static enum err range_moment_add(struct image *im, struct range_times *c, const struct moment *m,
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
        struct inside *pair;
        counter_spend(&counters[r->counter], m->spent, ns);
        if (r->detail)
            counter_spend(&counters[r->detail - 1], m->spent, ns);
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

enum err range_times_finish(struct image *im, struct range_times *c,
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

enum err range_times_attribute(struct image *im, const struct range_times *c, const uint32_t *rows)
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
