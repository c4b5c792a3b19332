/* Matches device activities with the CUDA calls that made them, by correlation id and in either
 * order of arrival. */
#include <stdlib.h>

#include "profiler/analyze/gpu/gpu.h"

enum {
    RING = 65536, /* calls stay this long after their first activity: it may not be the last */
    WAITING_MAX = 1000000 /* activities */
};
#define OTHER_EPOCH_NS                                                                             \
    10000000000ull /* ids wrap: an activity this long before its call is another's */

struct waiting {
    struct activity a;
    uint32_t next; /* of the same correlation id + 1 */
};
struct correlator {
    VECTOR(struct cuda_call) calls;
    size_t hand; /* the call that goes next where room is missing */
    VECTOR(uint32_t) free_calls;
    uint32_t ring[RING];
    size_t ring_at;
    struct table call_by_id;
    VECTOR(struct waiting) waiting;
    VECTOR(uint32_t) free_waiting;
    struct table waiting_by_id;
};

enum err correlate_create(struct correlator **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory for the analysis");
    for (size_t i = 0; i < RING; i++)
        (*out)->ring[i] = TABLE_NONE;
    return ERR_OK;
}

void correlate_free(struct correlator *cr)
{
    if (!cr)
        return;
    vector_free(&cr->calls);
    vector_free(&cr->free_calls);
    vector_free(&cr->waiting);
    vector_free(&cr->free_waiting);
    table_free(&cr->call_by_id);
    table_free(&cr->waiting_by_id);
    free(cr);
}

static enum err correlator_release(struct image *im, struct correlator *cr, uint32_t index)
{
    struct cuda_call *c = &cr->calls.items[index];
    if (!c->used)
        return ERR_OK;
    im->run->q.unmatched_launches += c->expected && !c->matched;
    for (int i = 0; i < c->correlations; i++)
        if (table_get(&cr->call_by_id, c->correlation[i]) == index)
            table_remove(&cr->call_by_id, c->correlation[i]);
    *c = (struct cuda_call){0};
    TRY(vector_add(&cr->free_calls, index));
    return ERR_OK;
}

static enum err new_call(struct image *im, struct correlator *cr, uint32_t *index)
{
    if (!cr->free_calls.count &&
        cr->calls.count >= LAUNCHES_MAX) { /* the one that was there for longest */
        im->run->q.launches_full++;
        TRY(correlator_release(im, cr, (uint32_t)cr->hand));
        cr->hand = (cr->hand + 1) % cr->calls.count;
    }
    if (cr->free_calls.count) {
        *index = vector_pop(&cr->free_calls);
        return ERR_OK;
    }
    *index = (uint32_t)cr->calls.count;
    return vector_add(&cr->calls, (struct cuda_call){0});
}

/* After its activity a call goes when the ring comes round; a graph launch has many and stays. */
static enum err correlator_match(struct image *im, struct gpu *g, uint32_t index,
                                 const struct activity *a)
{
    struct correlator *cr = g->correlator;
    struct cuda_call *c = &cr->calls.items[index];
    int first = !c->matched;
    c->matched = 1;
    TRY(gpu_attribute_activity(im, g, c, a));
    if (!first || c->api_class == TRACE_API_GRAPH)
        return ERR_OK;
    uint32_t out = cr->ring[cr->ring_at];
    cr->ring[cr->ring_at] = index;
    cr->ring_at = (cr->ring_at + 1) % RING;
    return out == TABLE_NONE || !cr->calls.items[out].matched ? ERR_OK
                                                              : correlator_release(im, cr, out);
}

static int call_belongs(const struct cuda_call *c, const struct activity *a)
{
    return a->start + OTHER_EPOCH_NS >= c->start;
}

static enum err take_waiting(struct image *im, struct gpu *g, uint32_t index, uint32_t id)
{
    struct correlator *cr = g->correlator;
    uint32_t at = table_get(&cr->waiting_by_id, id), left = 0;
    if (at == TABLE_NONE)
        return ERR_OK;
    at++;
    while (at) {
        struct waiting *w = &cr->waiting.items[at - 1];
        uint32_t next = w->next;
        if (call_belongs(&cr->calls.items[index], &w->a)) {
            TRY(correlator_match(im, g, index, &w->a));
            TRY(vector_add(&cr->free_waiting, at - 1));
            w->a.correlation = 0;
            w->a.end = 0;
            w->next = TABLE_NONE; /* free */
        } else {
            w->next = left;
            left = at;
        }
        at = next;
    }
    if (left)
        return table_put(&cr->waiting_by_id, id, left - 1);
    table_remove(&cr->waiting_by_id, id);
    return ERR_OK;
}

enum err correlate_call(struct image *im, struct gpu *g, const struct cuda_call *call)
{
    struct correlator *cr = g->correlator;
    uint32_t index;
    TRY(new_call(im, cr, &index));
    cr->calls.items[index] = *call;
    cr->calls.items[index].used = 1;
    for (int i = 0; i < call->correlations; i++) {
        uint32_t id = call->correlation[i], old = table_get(&cr->call_by_id, id);
        if (old != TABLE_NONE && old != index && cr->calls.items[old].correlation[0] == id)
            TRY(correlator_release(im, cr, old)); /* the id is used again */
        TRY(table_put(&cr->call_by_id, id, index));
    }
    for (int i = 0; i < call->correlations; i++)
        TRY(take_waiting(im, g, index, call->correlation[i]));
    return ERR_OK;
}

static enum err no_origin(struct image *im, const struct activity *a)
{
    if (a->kind == ACTIVITY_MEMORY)
        return ERR_OK;
    im->run->gpu.no_origin_n++;
    im->run->gpu.no_origin_ns += (double)(a->end - a->start);
    return ERR_OK;
}

enum err correlate_activity(struct image *im, struct gpu *g, const struct activity *a)
{
    struct correlator *cr = g->correlator;
    uint32_t index = table_get(&cr->call_by_id, a->correlation);
    if (index != TABLE_NONE && call_belongs(&cr->calls.items[index], a))
        return correlator_match(im, g, index, a);
    if (!a->correlation)
        return no_origin(im, a);
    uint32_t at, before = table_get(&cr->waiting_by_id, a->correlation);
    if (cr->free_waiting.count) {
        at = vector_pop(&cr->free_waiting);
    } else if (cr->waiting.count >= WAITING_MAX) {
        im->run->q.launches_full++;
        return no_origin(im, a);
    } else {
        at = (uint32_t)cr->waiting.count;
        TRY(vector_add(&cr->waiting, (struct waiting){0}));
    }
    cr->waiting.items[at] = (struct waiting){*a, before == TABLE_NONE ? 0 : before + 1};
    return table_put(&cr->waiting_by_id, a->correlation, at);
}

enum err correlate_finish(struct image *im, struct gpu *g)
{
    const struct correlator *cr = g->correlator;
    for (size_t i = 0; i < cr->waiting.count; i++)
        if (cr->waiting.items[i].next != TABLE_NONE)
            TRY(no_origin(im, &cr->waiting.items[i].a));
    for (size_t i = 0; i < cr->calls.count; i++)
        im->run->q.unmatched_launches +=
            cr->calls.items[i].used && cr->calls.items[i].expected && !cr->calls.items[i].matched;
    return ERR_OK;
}
