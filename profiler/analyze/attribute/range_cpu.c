/* Finds the ranges that were open at each CPU sample, by binary search in the instances of its
 * thread. */
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/attribute/range_cpu.h"

enum { SAMPLES_MAX = 1000000, PAIRS_MAX = 200000 };

void range_cpu_free(struct range_cpu *c)
{
    vector_free(&c->moments);
    vector_free(&c->pairs);
    table_free(&c->by_pair);
}

enum err range_cpu_sample(struct image *im, struct range_cpu *c, uint64_t time, double weight,
                          uint32_t context)
{
    if (c->moments.count >= SAMPLES_MAX) {
        im->run->q.ranges_full++;
        return ERR_OK;
    }
    TRY(vector_add(&c->moments, (struct moment){time, weight, context}));
    return ERR_OK;
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

static enum err range_cpu_add(struct image *im, struct range_cpu *c, uint32_t context,
                              uint32_t counter, double ns)
{
    uint64_t key = table_mix(context, counter);
    uint32_t at = table_get(&c->by_pair, key);
    if (at == TABLE_NONE) {
        if (c->pairs.count >= PAIRS_MAX) {
            im->run->q.ranges_full++;
            return ERR_OK;
        }
        at = (uint32_t)c->pairs.count;
        TRY(vector_add(&c->pairs, (struct inside){context, counter, 0}));
        TRY(table_put(&c->by_pair, key, at));
    }
    c->pairs.items[at].ns += ns;
    return ERR_OK;
}

enum err range_cpu_finish(struct image *im, struct range_cpu *c, const struct instance *instances,
                          size_t n, double *cpu_ns)
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
        if (list.first[thread] == list.first[thread + 1])
            thread = main;
        uint32_t outermost = 0;
        uint32_t at = last_before(&list, instances, thread, m->time);
        for (; at; at = instances[at - 1].parent) {
            const struct instance *r = &instances[at - 1];
            if (r->end && r->end < m->time)
                continue;
            cpu_ns[r->counter] += m->weight;
            outermost = at;
        }
        if (outermost)
            e = range_cpu_add(im, c, m->context, instances[outermost - 1].counter, m->weight);
    }
    free(list.of);
    free(list.first);
    return e;
}

enum err range_cpu_attribute(struct image *im, const struct range_cpu *c, const uint32_t *rows)
{
    struct run *r = im->run;
    for (size_t i = 0; i < c->pairs.count; i++) {
        int site = im->contexts.items[c->pairs.items[i].context].site;
        if (site < 0)
            continue;
        uint32_t range = rows[c->pairs.items[i].counter];
        uint64_t key = table_mix((uint64_t)site, range);
        uint32_t at = table_get(&r->ranges.inside_by_key, key);
        if (at == TABLE_NONE) {
            at = (uint32_t)r->ranges.inside.count;
            TRY(vector_add(&r->ranges.inside, (struct in_range){(uint32_t)site, range, 0}));
            TRY(table_put(&r->ranges.inside_by_key, key, at));
        }
        r->ranges.inside.items[at].ns += c->pairs.items[i].ns;
    }
    return ERR_OK;
}
