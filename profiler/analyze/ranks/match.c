/* For which rank a call waited: collective calls by group and number, messages in the order in
 * which MPI delivers them (of one pair, tag and group). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/ranks/ranks_state.h"

/* A call waits from its begin until `since`, at most to its end. */
static void event_waits(struct rank_event *e, uint64_t since, int rank)
{
    const uint64_t until = since < e->end ? since : e->end;
    if (until <= e->begin || rank == e->rank)
        return;
    const double ns = (double)(until - e->begin);
    if (ns > e->late) {
        e->late = ns;
        e->late_rank = rank;
    }
}

static int is_collective(const struct rank_event *e)
{
    return (e->op >= TRACE_MPI_BARRIER && e->op <= TRACE_MPI_PREFIX) || e->op == TRACE_MPI_END;
}

static int by_meeting(const void *a, const void *b)
{
    const struct rank_event *x = *(struct rank_event *const *)a,
                            *y = *(struct rank_event *const *)b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Matches one collective call of all its ranks, by begin. The root waits for the last of the
 * others, or the others for the root. */
static void collective_meet(struct rank_event **e, size_t n)
{
    const struct rank_event *last = e[n - 1];
    for (size_t i = 0; i < n; i++) {
        if (e[i]->op == TRACE_MPI_OF_ROOT) {
            for (size_t k = 0; k < n; k++)
                if (e[k]->rank == e[i]->peer)
                    event_waits(e[i], e[k]->begin, e[k]->rank);
        } else if (e[i]->op != TRACE_MPI_TO_ROOT || e[i]->rank == e[i]->peer) {
            event_waits(e[i], last->begin, last->rank);
        }
    }
}

static enum err match_collective(struct ranks_run *all)
{
    VECTOR(struct rank_event *) list = {0};
    enum err e = vector_room(&list, all->events.count + 1);
    for (size_t i = 0; i < all->events.count && !e; i++)
        if (is_collective(&all->events.items[i]))
            list.items[list.count++] = &all->events.items[i];
    if (!e)
        vector_sort(&list, by_meeting);
    for (size_t i = 0, n; i < list.count && !e; i += n) {
        const struct rank_event *first = list.items[i];
        for (n = 1; i + n < list.count; n++)
            if (list.items[i + n]->group != first->group ||
                list.items[i + n]->sequence != first->sequence)
                break;
        if (first->flags & TRACE_MPI_GROUP || first->op == TRACE_MPI_END)
            collective_meet(list.items + i, n);
    }
    vector_free(&list);
    return e;
}

/* A side of a message. */
struct side {
    uint64_t group, begin;
    int from, to, tag;
    int receives;
    struct rank_event *of;
};

ARRAY_ORDER(by_channel, struct side,
            COMPARE(x->from, y->from) ?: COMPARE(x->to, y->to) ?: COMPARE(x->tag, y->tag)
                ?: COMPARE(x->group, y->group) ?: COMPARE(x->receives, y->receives)
                ?: COMPARE(x->begin, y->begin));

static int same_channel(const struct side *a, const struct side *b)
{
    return a->from == b->from && a->to == b->to && a->tag == b->tag && a->group == b->group;
}

static int event_sends(const struct rank_event *e)
{
    return e->op == TRACE_MPI_SEND || e->op == TRACE_MPI_SEND_POST || e->op == TRACE_MPI_EXCHANGE;
}

static int event_receives(const struct rank_event *e)
{
    return e->op == TRACE_MPI_RECEIVE || e->op == TRACE_MPI_RECEIVE_POST ||
           e->op == TRACE_MPI_EXCHANGE;
}

static int event_source(const struct rank_event *e)
{
    return e->op == TRACE_MPI_EXCHANGE ? (int)e->sequence - 1 : e->peer;
}

/* A posted receive and the begin of its send, until a wait of the same rank. */
struct posted {
    uint64_t post, sent;
    int rank, from;
};
struct posted_list {
    struct posted *items;
    size_t count, room;
};

static void match_message(struct side *send, struct side *receive, struct posted_list *posted,
                          enum err *e)
{
    struct rank_event *s = send->of, *r = receive->of;
    if (r->op == TRACE_MPI_RECEIVE_POST)
        *e = vector_add(posted, (struct posted){r->begin, s->begin, r->rank, s->rank});
    else
        event_waits(r, s->begin, s->rank);
    if (s->op == TRACE_MPI_SEND && r->begin < s->end) /* it held the message until then */
        event_waits(s, r->begin, r->rank);
}

ARRAY_ORDER(by_rank_and_post, struct posted,
            COMPARE(x->rank, y->rank) ?: COMPARE(x->post, y->post));

/* A wait is for what was posted before it and not sent yet. */
static void match_waits(struct ranks_run *all, struct posted_list *posted)
{
    vector_sort(posted, by_rank_and_post);
    for (size_t i = 0; i < all->events.count; i++) {
        struct rank_event *w = &all->events.items[i];
        if (w->op != TRACE_MPI_WAIT)
            continue;
        size_t low = ARRAY_BOUND(0, posted->count, k, posted->items[k].rank < w->rank);
        for (; low < posted->count && posted->items[low].rank == w->rank &&
               posted->items[low].post <= w->begin;
             low++) {
            const struct posted *p = &posted->items[low];
            if (p->sent > w->begin && p->sent < w->end)
                event_waits(w, p->sent, p->from);
        }
    }
}

/* Pairs the sides of one channel in their order. */
static enum err match_channel(struct ranks_run *all, struct side *side, size_t n,
                              struct posted_list *posted)
{
    enum err e = ERR_OK;
    size_t sent = 0;
    while (sent < n && !side[sent].receives)
        sent++;
    for (size_t i = sent; i < n && !e; i++) {
        if (i - sent < sent)
            match_message(&side[i - sent], &side[i], posted, &e);
        else
            all->unmatched++;
    }
    return e;
}

static enum err match_messages(struct ranks_run *all)
{
    VECTOR(struct side) sides = {0};
    struct posted_list posted = {0};
    enum err e = ERR_OK;
    for (size_t i = 0; i < all->events.count && !e; i++) {
        struct rank_event *v = &all->events.items[i];
        const int any = event_receives(v) &&
                        (event_source(v) < 0 || (v->op == TRACE_MPI_RECEIVE && v->tag < 0));
        all->unmatched += (uint64_t)any;
        if (event_sends(v) && v->peer >= 0)
            e = vector_add(&sides,
                           (struct side){v->group, v->begin, v->rank, v->peer, v->tag, 0, v});
        if (!e && event_receives(v) && !any)
            e = vector_add(
                &sides, (struct side){v->group, v->begin, event_source(v), v->rank, v->tag, 1, v});
    }
    if (!e)
        vector_sort(&sides, by_channel);
    for (size_t i = 0, n; i < sides.count && !e; i += n) {
        for (n = 1; i + n < sides.count && same_channel(&sides.items[i], &sides.items[i + n]); n++)
            ;
        e = match_channel(all, sides.items + i, n, &posted);
    }
    if (!e)
        match_waits(all, &posted);
    vector_free(&posted);
    vector_free(&sides);
    return e;
}

enum err ranks_match(struct ranks_run *all)
{
    TRY(match_collective(all));
    return match_messages(all);
}
