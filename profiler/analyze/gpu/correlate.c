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
struct joins {
    struct call *calls;
    size_t calls_count, calls_room, hand;
    uint32_t *free_calls;
    size_t free_count, free_room;
    uint32_t ring[RING];
    size_t ring_at;
    struct table call_by_id;
    struct waiting *waiting;
    size_t waiting_count, waiting_room;
    uint32_t *free_waiting;
    size_t free_waiting_count, free_waiting_room;
    struct table waiting_by_id;
};

enum err joins_create(struct joins **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory for the analysis");
    for (size_t i = 0; i < RING; i++)
        (*out)->ring[i] = TABLE_NONE;
    return ERR_OK;
}

void joins_free(struct joins *j)
{
    if (!j)
        return;
    free(j->calls);
    free(j->free_calls);
    free(j->waiting);
    free(j->free_waiting);
    table_free(&j->call_by_id);
    table_free(&j->waiting_by_id);
    free(j);
}

static enum err let_go(struct image *im, struct joins *j, uint32_t index)
{
    struct call *c = &j->calls[index];
    if (!c->used)
        return ERR_OK;
    im->run->q.unmatched_launches += c->expected && !c->matched;
    for (int i = 0; i < c->correlations; i++)
        if (table_get(&j->call_by_id, c->correlation[i]) == index)
            table_remove(&j->call_by_id, c->correlation[i]);
    *c = (struct call){0};
    TRY(array_room(&j->free_calls, &j->free_room, j->free_count + 1, sizeof *j->free_calls));
    j->free_calls[j->free_count++] = index;
    return ERR_OK;
}

static enum err new_call(struct image *im, struct joins *j, uint32_t *index)
{
    if (!j->free_count && j->calls_count >= LAUNCHES_MAX) { /* the one that was there for longest */
        im->run->q.launches_full++;
        TRY(let_go(im, j, (uint32_t)j->hand));
        j->hand = (j->hand + 1) % j->calls_count;
    }
    if (j->free_count) {
        *index = j->free_calls[--j->free_count];
        return ERR_OK;
    }
    TRY(array_room(&j->calls, &j->calls_room, j->calls_count + 1, sizeof *j->calls));
    *index = (uint32_t)j->calls_count++;
    return ERR_OK;
}

/* After its activity a call goes when the ring comes round; a graph launch has many and stays. */
static enum err match(struct image *im, struct joins *j, uint32_t index, const struct activity *a)
{
    struct call *c = &j->calls[index];
    int first = !c->matched;
    c->matched = 1;
    TRY(gpu_attribute_activity(im, c, a));
    if (!first || c->api_class == TRACE_API_GRAPH)
        return ERR_OK;
    uint32_t out = j->ring[j->ring_at];
    j->ring[j->ring_at] = index;
    j->ring_at = (j->ring_at + 1) % RING;
    return out == TABLE_NONE || !j->calls[out].matched ? ERR_OK : let_go(im, j, out);
}

static int belongs(const struct call *c, const struct activity *a)
{
    return a->start + OTHER_EPOCH_NS >= c->start;
}

static enum err take_waiting(struct image *im, struct joins *j, uint32_t index, uint32_t id)
{
    uint32_t at = table_get(&j->waiting_by_id, id), left = 0;
    if (at == TABLE_NONE)
        return ERR_OK;
    at++;
    while (at) {
        struct waiting *w = &j->waiting[at - 1];
        uint32_t next = w->next;
        if (belongs(&j->calls[index], &w->a)) {
            TRY(match(im, j, index, &w->a));
            TRY(array_room(&j->free_waiting, &j->free_waiting_room, j->free_waiting_count + 1,
                           sizeof *j->free_waiting));
            j->free_waiting[j->free_waiting_count++] = at - 1;
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
        return table_put(&j->waiting_by_id, id, left - 1);
    table_remove(&j->waiting_by_id, id);
    return ERR_OK;
}

enum err joins_call(struct image *im, struct joins *j, const struct call *call)
{
    uint32_t index;
    TRY(new_call(im, j, &index));
    j->calls[index] = *call;
    j->calls[index].used = 1;
    for (int i = 0; i < call->correlations; i++) {
        uint32_t id = call->correlation[i], old = table_get(&j->call_by_id, id);
        if (old != TABLE_NONE && old != index && j->calls[old].correlation[0] == id)
            TRY(let_go(im, j, old)); /* the id is used again */
        TRY(table_put(&j->call_by_id, id, index));
    }
    for (int i = 0; i < call->correlations; i++)
        TRY(take_waiting(im, j, index, call->correlation[i]));
    return ERR_OK;
}

static enum err no_origin(struct image *im, const struct activity *a)
{
    if (a->kind == ACTIVITY_MEMORY)
        return ERR_OK;
    im->run->no_origin_n++;
    im->run->no_origin_ns += (double)(a->end - a->start);
    return ERR_OK;
}

enum err joins_activity(struct image *im, struct joins *j, const struct activity *a)
{
    uint32_t index = table_get(&j->call_by_id, a->correlation);
    if (index != TABLE_NONE && belongs(&j->calls[index], a))
        return match(im, j, index, a);
    if (!a->correlation)
        return no_origin(im, a);
    uint32_t at, before = table_get(&j->waiting_by_id, a->correlation);
    if (j->free_waiting_count) {
        at = j->free_waiting[--j->free_waiting_count];
    } else if (j->waiting_count >= WAITING_MAX) {
        im->run->q.launches_full++;
        return no_origin(im, a);
    } else {
        TRY(array_room(&j->waiting, &j->waiting_room, j->waiting_count + 1, sizeof *j->waiting));
        at = (uint32_t)j->waiting_count++;
    }
    j->waiting[at] = (struct waiting){*a, before == TABLE_NONE ? 0 : before + 1};
    return table_put(&j->waiting_by_id, a->correlation, at);
}

enum err joins_settle(struct image *im, struct joins *j)
{
    for (size_t i = 0; i < j->waiting_count; i++)
        if (j->waiting[i].next != TABLE_NONE)
            TRY(no_origin(im, &j->waiting[i].a));
    for (size_t i = 0; i < j->calls_count; i++)
        im->run->q.unmatched_launches +=
            j->calls[i].used && j->calls[i].expected && !j->calls[i].matched;
    return ERR_OK;
}
