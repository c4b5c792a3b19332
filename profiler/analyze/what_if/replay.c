/* Replays the threads. Each has a place in the new time, which goes on by what it does itself. A wait
 * ends in the new time when the thread that ended it gets to that part of the run: the one that had
 * the lock before, those that ended meanwhile, else who was at work last. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/what_if/what_if.h"

#define NEAR 1.5 /* looks at waits: a sampled wait ends so long after it did */
#define FAR  3.0 /* longer without anybody at work: what ended it is outside of the program */

struct replay_thread {
    double at, alone; /* ns of the new time; what the wait takes if nobody of the run ends it */
    int worked, waits_since;
};
struct threads_replay {
    const struct run *r;
    const struct cells *c;
    struct replay_thread *now;
    struct lock_span *takes; /* waits that ended with the lock, by lock and end */
    size_t takes_count;
    double factor;
    int near, far; /* cells */
};

ARRAY_ORDER(by_lock, struct lock_span,
            COMPARE(x->process, y->process) ?: COMPARE(x->address, y->address) ?: COMPARE(x->end, y->end));

/* Returns the thread that took the lock last while another waited for it, before that one got it at
 * cell k; -1: unknown. */
static int holder_before(const struct threads_replay *p, int row, int since, int k)
{
    const double from = since * p->c->ns, near = p->c->ns * 1.5, to = k * p->c->ns;
    for (size_t i = 0; i < p->takes_count; i++) {
        const struct lock_span *s = &p->takes[i];
        if (s->thread != row || fabs((double)s->end - to) > near)
            continue;
        const struct lock_span *before = i ? s - 1 : NULL;
        if (before && before->process == s->process && before->address == s->address &&
            before->thread != row && (double)before->end >= from)
            return before->thread;
        return s->holder;
    }
    return -1;
}

static int is_elsewhere(const struct threads_replay *p, int row, int other)
{
    return p->c->threads[row].process != p->c->threads[other].process;
}

/* Returns when the earliest of those is done who were at work last, within `cells` before k; NaN:
 * there are none. */
static double workers_at(const struct threads_replay *p, int row, int elsewhere, int k, int cells)
{
    double at = (double)NAN;
    int last = -1;
    for (size_t i = 0; i < p->c->threads_count; i++)
        if ((int)i != row && is_elsewhere(p, row, (int)i) == elsewhere)
            last = p->now[i].worked > last ? p->now[i].worked : last;
    for (size_t i = 0; i < p->c->threads_count && last >= 0 && last >= k - cells; i++)
        if ((int)i != row && is_elsewhere(p, row, (int)i) == elsewhere &&
            p->now[i].worked >= last - 1)
            at = isnan(at) || p->now[i].at < at ? p->now[i].at : at;
    return at;
}

/* Returns when somebody who is at work can have woken the thread; NaN: nobody of the run. */
static double waker_at(const struct threads_replay *p, int row, int elsewhere, int k)
{
    double at = workers_at(p, row, elsewhere, k, p->near);
    at = isnan(at) ? workers_at(p, row, !elsewhere, k, p->near) : at;
    at = isnan(at) ? workers_at(p, row, elsewhere, k, p->far) : at;
    return isnan(at) ? workers_at(p, row, !elsewhere, k, p->far) : at;
}

/* Returns when the last thread ended, or the last process, that did so during the wait; NaN: none. */
static double ended_at(const struct threads_replay *p, int row, int k)
{
    double at = (double)NAN;
    for (size_t i = 0; i < p->c->threads_count; i++) {
        const struct cell_thread *t = &p->c->threads[i];
        const int joined = is_elsewhere(p, row, (int)i) ? t->is_main : !t->is_main;
        if ((int)i != row && joined && t->last >= p->now[row].waits_since && t->last < k)
            at = isnan(at) || p->now[i].at > at ? p->now[i].at : at;
    }
    return at;
}

static void replay_wake(struct threads_replay *p, int row, int k)
{
    struct replay_thread *t = &p->now[row];
    const int asks = p->c->threads[row].doing[k - 1] == CELL_ASKS;
    const int holder = asks ? -1 : holder_before(p, row, t->waits_since, k);
    const double ended = ended_at(p, row, k);
    const double woken = holder >= 0    ? p->now[holder].at
                         : isnan(ended) ? waker_at(p, row, asks, k)
                                        : ended;
    if (isnan(woken))
        t->at += t->alone;
    else
        t->at = fmax(t->at, fmax(woken, isnan(ended) ? 0 : ended));
    t->alone = 0;
}

static void replay_begin(struct threads_replay *p, int row, int k)
{
    struct replay_thread *t = &p->now[row];
    const double at = k ? waker_at(p, row, p->c->threads[row].is_main, k) : 0;
    t->at = isnan(at) ? k * p->c->ns : at;
}

/* Wakes and starts those who do something in cell k. */
static void replay_starts(struct threads_replay *p, int k)
{
    for (size_t i = 0; i < p->c->threads_count; i++) {
        const struct cell_thread *t = &p->c->threads[i];
        if (k < t->first || k > t->last)
            continue;
        const int blocked = t->doing[k] > CELL_WORKS;
        const int was = k > t->first && t->doing[k - 1] > CELL_WORKS;
        if (k == t->first)
            replay_begin(p, (int)i, k);
        if (was && !blocked)
            replay_wake(p, (int)i, k);
        if (blocked && !was)
            p->now[i].waits_since = k;
    }
}

static double replay_run(struct threads_replay *p, double factor)
{
    double end = 0;
    for (size_t i = 0; i < p->c->threads_count; i++)
        p->now[i] = (struct replay_thread){.worked = -1};
    for (int k = 0; k < p->c->count; k++) {
        replay_starts(p, k);
        for (size_t i = 0; i < p->c->threads_count; i++) {
            const struct cell_thread *t = &p->c->threads[i];
            if (k < t->first || k > t->last)
                continue;
            const double takes = p->c->ns * (1 - (1 - factor) * t->share[k] / 255);
            if (t->doing[k] == CELL_WORKS) {
                p->now[i].at += takes;
                p->now[i].worked = k;
            } else {
                p->now[i].alone += takes;
            }
            if (k == t->last && t->doing[k] > CELL_WORKS && t->is_main)
                replay_wake(p, (int)i, k);
        }
    }
    for (size_t i = 0; i < p->c->threads_count; i++)
        if (p->c->threads[i].is_main)
            end = fmax(end, p->now[i].at);
    return end;
}

/* Sums what the line, with what it calls, has of the critical path. */
static double path_of_line(const struct run *r, const struct what_if *ask)
{
    double ns = 0;
    for (size_t i = 0; i < r->own.count; i++) {
        const struct own_node *n = &r->own.items[i];
        if (!what_if_is_below(r, ask, (uint32_t)i))
            continue;
        ns += n->path_cpu;
        for (int k = 0; k < WAITS; k++)
            ns += n->path_wait[k];
    }
    return ns;
}

static enum err replay_make(struct run *r, const struct cells *c, struct threads_replay *p)
{
    const double look = r->m->meta.wait_hz > 0 ? 1e9 / r->m->meta.wait_hz : 5e7;
    *p = (struct threads_replay){.r = r,
                                 .c = c,
                                 .near = (int)(NEAR * look / c->ns) + 2,
                                 .far = (int)(FAR * look / c->ns) + 2};
    p->now = calloc(c->threads_count + 1, sizeof *p->now);
    p->takes = calloc(r->locks.spans.count + 1, sizeof *p->takes);
    FAIL_IF(!p->now || !p->takes, ERR_MEMORY, "no memory to replay the run");
    for (size_t i = 0; i < r->locks.spans.count; i++)
        if (r->locks.spans.items[i].taken)
            p->takes[p->takes_count++] = r->locks.spans.items[i];
    array_sort(p->takes, p->takes_count, sizeof *p->takes, by_lock);
    return ERR_OK;
}

enum err what_if_answer(struct run *r)
{
    struct what_if *ask = r->options->what_if;
    struct cells c;
    struct threads_replay p = {0};
    if (!ask)
        return ERR_OK;
    int known = 0;
    for (size_t i = 0; i < r->own.count && !known; i++)
        known = what_if_is_below(r, ask, (uint32_t)i);
    FAIL_IF(!known, ERR_INPUT,
            "%s:%lld: no sample is at this line. Give a line of the program that takes time: "
            "`tomoprof report --text` lists them.",
            ask->file, (long long)ask->line);
    enum err e = cells_make(r, ask, &c);
    if (!e)
        e = replay_make(r, &c, &p);
    if (!e) {
        const double wall = (double)(r->last - r->origin), same = replay_run(&p, 1);
        ask->path_s = 1e-9 * path_of_line(r, ask);
        ask->before_s = 1e-9 * wall;
        ask->after_s = 1e-9 * wall * replay_run(&p, ask->factor) / fmax(same, 1);
        ask->replayed_s = 1e-9 * same;
    }
    free(p.now);
    free(p.takes);
    cells_free(&c);
    return e;
}
